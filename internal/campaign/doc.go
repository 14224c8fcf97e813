// Package campaign plays long random histories of programs that stamp and pay through the sandbox, and checks after each whether
// anything was done twice, told wrongly or lost.
//
// A [History] is drawn from a seed: accounts of one to four providers, business records, processes that crash and start again, double
// clicks, replicas, slow networks, faults of the provider, and pauses of days, so that the providers forget keys. [Play] plays it with
// any [Client]: the SDK is one, and the nested module bench has others. It has to run inside a testing/synctest bubble, where
// days take milliseconds.
//
// The program around the client is always the same: it keeps a row for each of its records, calls the client until the row says done,
// refused or "a person must look", and in the end, when all faults are over, comes back for every row that is still open.
package campaign
