package unavez_test

import (
	"net/http"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/providers/payouts"
)

// Addresses, keys and bodies, as the tables "endpoint", "field" and "gap" have them.

func TestRowsAnEmptyBaseURLMeansTheDocumentedHostOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		fact        string
		provider    unavez.Provider
		environment unavez.Environment
		address     string // empty: New refuses
	}{
		{"facty prod", facty.Provider{Org: "acme", APIKey: testAPIKey}, unavez.Production, "https://facty.mx/api/authenticated/acme/invoices"},
		{"facty test", facty.Provider{Org: "acme", APIKey: testAPIKey}, unavez.Test, "https://preview.facty.mx/api/authenticated/acme/invoices"},
		{"facty without an environment", facty.Provider{Org: "acme", APIKey: testAPIKey}, "", ""},
		{"ipsofactura prod", ipsofactura.Provider{APIKey: testAPIKey}, unavez.Production, "https://api.ipsofactura.com/cfdi/timbrar"},
		{"ipsofactura test", ipsofactura.Provider{APIKey: testAPIKey}, unavez.Test, ""},
		{"ipsofactura without an environment", ipsofactura.Provider{APIKey: testAPIKey}, "", ""},
		{"fiscalisto prod", fiscalisto.Provider{APIKey: testAPIKey}, unavez.Production, "https://api.fiscalisto.com/v1/invoices"},
		{"fiscalisto test", fiscalisto.Provider{APIKey: testAPIKey}, unavez.Test, "https://api.fiscalisto.com/v1/invoices"},
		{"fiscalisto without an environment", fiscalisto.Provider{APIKey: testAPIKey}, "", ""},
		{"payouts prod", payouts.Provider{APIKey: testAPIKey}, unavez.Production, ""},
		{"payouts test", payouts.Provider{APIKey: testAPIKey}, unavez.Test, ""},
		{"base url with a slash at its end", fiscalisto.Provider{BaseURL: testHost + "/x/", APIKey: testAPIKey}, "", testHost + "/x/v1/invoices"},
		{"plain http", fiscalisto.Provider{BaseURL: "http://provider.example", APIKey: testAPIKey}, unavez.Test, ""},
		{"plain http to loopback", fiscalisto.Provider{BaseURL: "http://127.0.0.1:9", APIKey: testAPIKey}, unavez.Test, "http://127.0.0.1:9/v1/invoices"},
		{"facty without an organisation", facty.Provider{BaseURL: testHost, APIKey: testAPIKey}, unavez.Test, ""},
		{"no API key", fiscalisto.Provider{BaseURL: testHost}, unavez.Test, ""},
	} {
		t.Run(r.fact, func(t *testing.T) {
			t.Parallel()
			asked := ""
			transport := httpmock.NewMockTransport()
			transport.RegisterNoResponder(func(request *http.Request) (*http.Response, error) {
				asked = request.URL.String()
				return httpmock.NewStringResponse(403, ""), nil
			})
			options := []unavez.ClientOption{unavez.WithHTTPClient(&http.Client{Transport: transport})}
			if r.environment != "" {
				options = append(options, unavez.WithEnvironment(r.environment))
			}
			client, err := unavez.New(r.provider, options...)
			if r.address == "" {
				require.Error(t, err)
				require.NotContains(t, err.Error(), testAPIKey)
				return
			}
			require.NoError(t, err)
			_, err = client.Invoices.Create(t.Context(), &unavez.InvoiceParams{Raw: []byte(`{}`)}, unavez.WithIdempotencyKey(testKey))
			require.ErrorIs(t, err, unavez.ErrUnauthorized)
			require.Equal(t, r.address, asked)
		})
	}
}

func TestRowsADerivedKeyIsNamespaceEnvironmentKindAndID(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		b := newMock(t, provider).play(answer(201, c.success))
		got, err := c.call(t.Context(), b.client, []unavez.CallOption{unavez.WithDomainID("factura", "Peña:7")})
		require.NoError(t, err)
		require.Equal(t, "mi-erp:test:factura:Pe%C3%B1a%3A7", got.Key)
		if provider == atFacty {
			require.Contains(t, b.writes()[0].Body, `"idempotencyKey":"`+got.Key+`"`)
			continue
		}
		require.Equal(t, []string{got.Key}, b.writes()[0].Header["Idempotency-Key"])
	}
}

func TestRowsCancelMotives(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atFacty, atIpsofactura} {
		for _, r := range []struct {
			motive, substitute string
			isGood             bool
		}{
			{"01", testUUID, true},
			{"01", "", false},
			{"02", "", true},
			{"02", testUUID, false},
			{"03", "", true},
			{"03", testUUID, false},
			{"04", "", true},
			{"04", testUUID, false},
			{"05", "", false},
			{"", "", false},
			{"1", testUUID, false},
		} {
			b := newMock(t, provider)
			if r.isGood {
				b.play(answer(200, `{}`))
			}
			_, err := b.client.Invoices.Cancel(t.Context(), &unavez.CancelParams{ID: "inv_1", Motive: r.motive, SubstituteUUID: r.substitute}, unavez.WithIdempotencyKey(testKey))
			require.Equal(t, r.isGood, err == nil, "motive %q with substitute %q at %s: %v", r.motive, r.substitute, provider, err)
			if !r.isGood {
				requireRefusedLocally(t, nil, err, "")
			}
		}
	}
}

// fullInvoice has every field that both of the providers with a rich body carry.
func fullInvoice(customer unavez.Customer) *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Type: unavez.Expense, Series: "B", Customer: customer, CFDIUse: "G02", PaymentForm: "03", PaymentMethod: "PUE", Currency: "USD", ExchangeRate: "17.5000",
		Export: "01", Related: []unavez.Relation{{Type: "01", UUIDs: []string{testUUID}}}, Global: &unavez.GlobalInfo{Periodicity: "04", Months: "08", Year: 2026},
		Items: []unavez.Item{{
			ProductKey: "86121700", UnitKey: "E48", Description: "Servicio & más", Quantity: "1.500", UnitPrice: "100.00", Discount: "10.00", TaxObject: "02",
			Taxes: []unavez.Tax{{Type: "002", Rate: "0.160000"}, {Type: "001", Rate: "0.100000", Withheld: true}},
		}},
	}
}

func TestRowsFactyFullBody(t *testing.T) {
	t.Parallel()
	b := newMock(t, atFacty).play(answer(201, mainCase(t, atFacty).success))
	params := fullInvoice(unavez.Customer{ID: "cli_1"})
	params.Items[0].Discount, params.Extra = "", map[string]any{"observaciones": "ñ"}
	_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
	require.NoError(t, err)
	require.Equal(t, `{"type":"egreso","idempotencyKey":"`+testKey+`","clientId":"cli_1","usoCfdi":"G02","formaPago":"03","metodoPago":"PUE","serie":"B","exportacion":"01",`+
		`"moneda":"USD","tipoCambio":17.5000,"items":[{"quantity":1.500,"claveProdServ":"86121700","claveUnidad":"E48","description":"Servicio \u0026 más","unitPrice":100.00,`+
		`"iva":0.160000,"retIsr":0.100000,"objetoImp":"02"}],"cfdiRelacionados":[{"tipoRelacion":"01","uuids":["`+testUUID+`"]}],`+
		`"informacionGlobal":{"periodicidad":"04","meses":"08","anio":2026},"observaciones":"ñ"}`, b.writes()[0].Body)
}

func TestRowsIpsofacturaFullBody(t *testing.T) {
	t.Parallel()
	b := newMock(t, atIpsofactura).play(answer(201, mainCase(t, atIpsofactura).success))
	params := fullInvoice(unavez.Customer{RFC: testRFC, LegalName: testName, TaxRegime: "601", PostalCode: "65000"})
	params.Issuer, params.Folio = "EKU9003173C9", "007"
	params.Items[0].SKU = "S-1"
	_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
	require.NoError(t, err)
	require.Equal(t, `{"rfc_emisor":"EKU9003173C9","serie":"B","folio":"007","tipo_comprobante":"E","moneda":"USD","forma_pago":"03","metodo_pago":"PUE",`+
		`"receptor":{"rfc":"URE180429TM6","nombre":"UNIVERSIDAD ROBOTICA ESPANOLA","domicilio_fiscal":"65000","regimen_fiscal":"601","uso_cfdi":"G02"},`+
		`"conceptos":[{"clave_prod_serv":"86121700","no_identificacion":"S-1","cantidad":1.500,"clave_unidad":"E48","descripcion":"Servicio \u0026 más","valor_unitario":100.00,`+
		`"descuento":10.00,"objeto_imp":"02","impuestos":{"traslados":[{"impuesto":"002","tipo_factor":"Tasa","tasa_o_cuota":0.160000}],`+
		`"retenciones":[{"impuesto":"001","tipo_factor":"Tasa","tasa_o_cuota":0.100000}]}}],"tipo_cambio":17.5000,"exportacion":"01",`+
		`"cfdi_relacionados":[{"tipo_relacion":"01","uuids":["`+testUUID+`"]}],"informacion_global":{"periodicidad":"04","meses":"08","anio":2026}}`, b.writes()[0].Body)
}

func TestRowsIpsofacturaFolioAsANumberGoesInExtra(t *testing.T) {
	t.Parallel()
	b := newMock(t, atIpsofactura).play(answer(201, mainCase(t, atIpsofactura).success))
	params := invoiceParams(atIpsofactura)
	params.Folio, params.Extra = "", map[string]any{"folio": 77}
	_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
	require.NoError(t, err)
	require.Contains(t, b.writes()[0].Body, `"folio":77`)
}

func TestRowsFactyCurrencyAndRateGoTogether(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		currency string
		rate     unavez.Decimal
		isGood   bool
	}{{"", "", true}, {"MXN", "", true}, {"USD", "17.5", true}, {"USD", "", false}, {"", "17.5", false}} {
		b := newMock(t, atFacty)
		if r.isGood {
			b.play(answer(201, mainCase(t, atFacty).success))
		}
		params := invoiceParams(atFacty)
		params.Currency, params.ExchangeRate = r.currency, r.rate
		_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
		require.Equal(t, r.isGood, err == nil, "%s at %s: %v", r.currency, r.rate, err)
		if r.isGood {
			require.Equal(t, r.currency == "USD", hasMember(b.writes()[0].Body, "moneda"), "moneda only when not MXN")
		}
	}
}

func hasMember(body, name string) bool {
	object, _ := unavez.ParseObject([]byte(body))
	return object.Has(name)
}
