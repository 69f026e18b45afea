package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// Browser is a running Chromium. Its methods may be called from any goroutine;
// they end the test when the browser does not follow a command.
type Browser struct {
	t    *testing.T
	to   io.Writer
	from *bufio.Reader

	mu      sync.Mutex
	last    int
	answers map[int]chan message
	pages   map[string]*Page // by session
	gone    chan struct{}    // closed when the browser ended
}

// message is a command, its answer or an event of the DevTools protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`

	raw json.RawMessage // Params of an event
}

// Open starts a browser that ends with the test. It skips the test where there
// is none.
func Open(t *testing.T) *Browser {
	t.Helper()
	path := Find(t)
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), path, slices.Concat(flags, []string{
		"--user-data-dir=" + folder, "--remote-debugging-pipe", "about:blank",
	})...)
	cmd.ExtraFiles = []*os.File{theirs, ours} // 3: commands, 4: answers
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirs.Close(), ours.Close()
	b := &Browser{t: t, to: to, from: bufio.NewReader(from), answers: map[int]chan message{}, pages: map[string]*Page{}, gone: make(chan struct{})}
	go b.read()
	t.Cleanup(func() {
		_ = b.command("", "Browser.close", nil, nil) // its helpers end with it
		_ = to.Close()
		select {
		case <-b.gone:
		case <-time.After(10 * time.Second):
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = from.Close()
		<-b.gone
		_ = os.RemoveAll(folder) // what a helper still writes is left behind
	})
	return b
}

// read hands on what the browser says until it ends.
func (b *Browser) read() {
	defer close(b.gone)
	for {
		line, err := b.from.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			message
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		m.raw = m.Params
		b.mu.Lock()
		answer, page := b.answers[m.ID], b.pages[m.Session]
		delete(b.answers, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m.message
		case page != nil && m.Method != "":
			page.note(m.Method, m.Params)
		}
	}
}

// command sends a command and decodes its result into out, nil for none.
func (b *Browser) command(session, method string, params, out any) error {
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.answers[id] = answer
	raw, err := json.Marshal(message{ID: id, Session: session, Method: method, Params: params})
	if err == nil {
		_, err = b.to.Write(append(raw, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(m.Result, out)
	case <-b.gone:
		return fmt.Errorf("%s: the browser ended", method)
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer", method)
	}
}
