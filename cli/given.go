package cli

import (
	"context"
	"fmt"
	"os"

	"postern/config"
)

// load reads the configuration of a file and of the environment.
func load(ctx context.Context, path string) (*config.Config, error) {
	return loadFrom(ctx, path, os.Environ())
}

func loadFrom(ctx context.Context, path string, environ []string) (*config.Config, error) {
	return waited(ctx, path, func() (*config.Config, error) {
		cfg, _, err := config.Load(path, environ)
		return cfg, err
	})
}

// readSmall is [config.ReadSmall].
func readSmall(ctx context.Context, path string, most int64) ([]byte, error) {
	return waited(ctx, path, func() ([]byte, error) { return config.ReadSmall(path, most) })
}

// waited returns the result of read, unless ctx ends while it waits for a named pipe,
// which opens only when a writer does.
func waited[T any](ctx context.Context, path string, read func() (T, error)) (T, error) {
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return read()
	}
	type result struct {
		is  T
		err error
	}
	done := make(chan result, 1)
	go func() { // ends with what it reads, or with the command
		is, err := read()
		done <- result{is, err}
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s returned no data: %w", path, context.Cause(ctx))
	case r := <-done:
		return r.is, r.err
	}
}
