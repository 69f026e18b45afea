package cli

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

// silence returns a terminal without input, or a program that sends nothing.
func silence(t *testing.T) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	return r
}

// TestAnInterruptedQuestionIsAnsweredByNo, although it has no answer.
func TestAnInterruptedQuestionIsAnsweredByNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		said := make(chan error, 1)
		go func() { said <- answered(ctx, silence(t), io.Discard, "Go on?") }()
		synctest.Wait()
		select {
		case err := <-said:
			t.Fatalf("no answer: %v", err)
		default:
		}
		interrupt()
		if err := <-said; err == nil {
			t.Error("it goes on")
		}
	})
}

// TestInterruptedRestoreStopsReadingStandardInput, although it has no data.
func TestInterruptedRestoreStopsReadingStandardInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("Ctrl-C")
		ctx, interrupt := context.WithCancelCause(t.Context())
		in, err := openBackup(ctx, "-", silence(t))
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := in.Read(make([]byte, 1))
			got <- err
		}()
		synctest.Wait()
		interrupt(stopped)
		if err := <-got; !errors.Is(err, stopped) {
			t.Error(err)
		}
	})
}
