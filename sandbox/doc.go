// Package sandbox is a server that behaves as four providers document
// themselves: Facty, Ipsofactura, Fiscalisto and a payouts API. It stamps
// nothing and pays nobody, keeps a ledger of what it would have stamped and
// paid, and can be told to misbehave in the ways in which real servers do.
//
// One Server is all four of them, told apart by path, so that one base URL
// serves every provider:
//
//	/authenticated/{org}/...   Facty, also below /api
//	/cfdi...                   Ipsofactura
//	/v1/payouts                payouts
//	/v1/...                    Fiscalisto
//
// What a write does is decided by the provider's page. What a page leaves open
// is answered in one way, chosen to be hard on a client: the same code for every
// conflict at Facty, other statuses for a repeated answer, an exact comparison
// of bodies. Members that no page requires may be missing, but a member that is
// there must have the documented type.
//
// Faults are queued with Script, ScriptKey and ScriptLookups:
//
//	srv := sandbox.Start(t)
//	srv.Script(sandbox.CloseAfter(), sandbox.Pass())
//	// ... one call of the client under test, whose first answer is lost ...
//	require.Equal(t, 1, srv.Effects("mi-erp:test:factura:4471"))
//
// Identifiers and fiscal UUIDs come from a counter: two servers that are asked
// the same things give the same ones.
package sandbox
