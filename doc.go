// Package unavez ("una vez", Spanish for once) makes dangerous writes happen once: stamping a Mexican fiscal
// invoice (CFDI) and paying money out. A program can time out, crash, be double-clicked or run on three replicas, and still one
// business record becomes one stamped invoice or one payout; and where nobody can know what happened, the error says
// what is known and what may be done next.
//
// # A call
//
// Every write has an idempotency key, given or derived from the caller's own record. Without one nothing is sent.
//
//	client, err := unavez.New(
//		facty.Provider{Org: "acme", APIKey: os.Getenv("FACTY_KEY")},
//		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Production),
//	)
//	invoice, err := client.Invoices.Create(ctx, params, unavez.WithDomainID("factura", "4471"))
//
// The key of this call is mi-erp:prod:factura:4471, in every process and for ever. The body is encoded once, and every attempt sends those
// bytes under that key.
//
// # An error
//
// Every error of a service call is an [*Error] with one disposition, and each disposition has a sentinel:
//
//   - [ErrRefused]: nothing happened. [Error.Next] says what to correct, and whether the corrected request takes
//     the same key or a new one.
//   - [ErrRetryLater]: call again with the same key, not before [Error.RetryAt]; or ask with Reconcile. The write may have been
//     executed, unless [Error.Effect] says otherwise.
//   - [ErrNeedsManualReview]: no rule permits a machine to go on. [Error.Reason] says why; [Error.Explain] tells a person
//     what is known and what may be done.
//
// "Failed" is said only where the provider said it. A timeout is not a failure, and no error of this package treats it as one.
//
// # What is sent again
//
// Only what the provider's own page permits: an answer without a rule is never a reason to send again. Waits are what
// Retry-After asks, else 1, 2, 4 and 8 seconds; a wait that is longer than [WithMaxWait] or ends after the context's deadline is
// not slept: the call ends at once, with the time to come back. Facty is asked what became of a key before
// anything is sent again; Ipsofactura, Fiscalisto and the payouts API document the same request under the same key
// as the way to find out.
//
// # After a crash
//
// A [Journal] records each operation before its first byte leaves. The default one is in memory; the module journal/sqljournal keeps
// it in SQLite or PostgreSQL, shared by replicas, and can record the intent in the caller's own transaction ([Client.Prepare],
// [Client.Send]). Reconcile and Await find out what became of a key later, in any process.
//
// # Providers
//
// The packages below providers/ hold one provider each: its rules are a table beside the sentences of the provider's page that they
// encode. The package sandbox behaves as the four providers document, loses answers on purpose, and counts what it
// stamped: use it in tests of your own.
package unavez
