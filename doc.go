// Package unavez makes dangerous writes happen once: stamping a Mexican fiscal invoice (CFDI) and paying money out.
package unavez
