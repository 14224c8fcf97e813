//go:build openai

package bench_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func openAI() []contender { return []contender{{"openai-go", viaOpenAI}} }

func viaOpenAI(_ testing.TB, at place) post {
	client := openai.NewClient(option.WithBaseURL(at.baseURL), option.WithAPIKey("fk_1"),
		option.WithHTTPClient(&http.Client{Transport: at.transport}))
	return func(ctx context.Context, i int) (string, error) {
		var found invoice
		err := client.Post(ctx, "authenticated/acme/invoices", newBody(key(i)), &found)
		return found.UUID, err
	}
}
