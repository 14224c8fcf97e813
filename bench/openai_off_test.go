//go:build !openai

package bench_test

func openAI() []contender { return nil }
