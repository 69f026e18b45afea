package crash

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"postern/sandbox"
)

// writeTo lets a stranger write to the account of an instance, a dozen times
// in each life of the program: on a busy machine it could never catch up.
func (s *siege) writeTo(ctx context.Context, rng *rand.Rand, l *account) {
	for sent := int64(0); rest(ctx, rng, 25*time.Millisecond); {
		if sent > 12*s.lives.Load() {
			continue
		}
		sent++
		in := inboundText{line: l, text: s.ledger.name("inbound")}
		in.id = s.write(l, in.text)
		s.ledger.note(func() { s.ledger.inbound = append(s.ledger.inbound, in) })
	}
}

func (s *siege) write(l *account, text string) (id string) {
	id, err := l.stranger.SendText(context.WithoutCancel(s.ctx), l.phone.JID(), text)
	if err != nil {
		s.T.Error(err)
	}
	return id
}

// disturbNetwork drops connections, delays acknowledgements, refuses messages
// and loses them.
func (s *siege) disturbNetwork(ctx context.Context, rng *rand.Rand) {
	for rest(ctx, rng, 500*time.Millisecond) {
		switch rng.IntN(4) {
		case 0:
			s.Sandbox.Drop(s.accounts[rng.IntN(len(s.accounts))].phone.Number())
		case 1:
			s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Duration(rng.IntN(20)) * time.Millisecond})
		case 2:
			s.Sandbox.SetFaults(sandbox.Faults{DropAfter: 1 + rng.IntN(20)})
		case 3:
			s.Sandbox.SetFaults(sandbox.Faults{SendError: 500})
			rest(ctx, rng, 30*time.Millisecond)
			s.Sandbox.SetFaults(sandbox.Faults{})
		}
	}
}

// weather is how the receiver of the webhooks behaves.
type weather struct{ kind atomic.Int32 }

const (
	fair    = iota
	failing // 500
	slow
	cutting // no answer, though the body was read
	kinds
)

func (w *weather) set(kind int) { w.kind.Store(int32(kind)) }

func (s *siege) changeWeather(ctx context.Context, rng *rand.Rand) {
	for rest(ctx, rng, time.Second) {
		if kind := rng.IntN(kinds); kind != fair {
			s.weather.set(kind)
			rest(ctx, rng, 150*time.Millisecond)
			s.weather.set(fair)
			continue
		}
		s.site.close() // nothing listens
		rest(ctx, rng, 150*time.Millisecond)
		if err := s.site.open(); err != nil {
			s.T.Error(err)
			return
		}
	}
}

// receiver notes what arrives before it answers.
func (s *siege) receiver() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the program was killed while it sent
		}
		kind := s.weather.kind.Load()
		global := r.URL.Path == "/global"
		if wanted := s.lastWord.Load(); wanted != nil && bytes.Contains(body, []byte(*wanted)) {
			s.heard.Store(true)
		}
		if global && strings.HasPrefix(r.Header.Get("X-Webhook-Event"), "message.batch.") {
			s.ledger.note(func() {
				s.ledger.offered[string(body)]++
				if kind == fair || kind == slow {
					s.ledger.accepted[string(body)]++
				}
			})
			s.trap.pass(atDelivery)
		} else if path, durable := strings.CutPrefix(r.URL.Path, "/durable/"); durable {
			if kind == fair || kind == slow {
				s.arrived.take(path, r.Header.Get("webhook-id"), string(body))
			}
			s.trap.pass(atDurable)
		} else if !global {
			s.noteResult(body)
			s.trap.pass(atInstance)
		}
		switch kind {
		case failing:
			rw.WriteHeader(http.StatusInternalServerError)
		case slow:
			time.Sleep(30 * time.Millisecond)
		case cutting:
			panic(http.ErrAbortHandler)
		}
	})
}
