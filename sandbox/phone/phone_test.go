package phone

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	wa "go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
)

// TestMain silences the Signal library, whose own logger is not safe for concurrent use.
func TestMain(m *testing.M) {
	handset.SetLogger(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// phoneNet joins phones without linked devices, as the server would.
type phoneNet struct {
	mu     sync.Mutex
	phones map[types.JID]*Phone // by LID
	routed []waBinary.Node
	saves  map[types.JID]int
	mangle func(n waBinary.Node, ciphertext []byte) // may change the ciphertext on its way
}

func newPhoneNet(t *testing.T, numbers ...string) (*phoneNet, []*Phone) {
	t.Helper()
	n := &phoneNet{phones: map[types.JID]*Phone{}, saves: map[types.JID]int{}}
	var phones []*Phone
	for _, number := range numbers {
		pn, lid := types.NewJID(number, types.DefaultUserServer), types.NewJID("9"+number, types.HiddenUserServer)
		p := New(n, Options{Number: number}, pn, lid, nil)
		n.phones[lid] = p
		phones = append(phones, p)
		t.Cleanup(p.Close)
	}
	return n, phones
}

// TimerOf reports no timer of any group.
func (n *phoneNet) TimerOf(types.JID) (uint32, time.Time) { return 0, time.Time{} }

func (n *phoneNet) Route(_ context.Context, from types.JID, node waBinary.Node) error {
	to := node.AttrGetter().OptionalJIDOrEmpty("to")
	out := waBinary.Node{Tag: node.Tag, Attrs: waBinary.Attrs{"from": from}, Content: node.Content}
	for _, key := range []string{"id", "type"} {
		if v, ok := node.Attrs[key]; ok {
			out.Attrs[key] = v
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.routed = append(n.routed, out)
	peer, ok := n.phones[to]
	if !ok {
		return fmt.Errorf("no account at %s", to)
	}
	if enc, ok := peer.encOf(out); ok && n.mangle != nil {
		n.mangle(out, enc.Content.([]byte))
	}
	peer.Deliver(out)
	return nil
}

func (n *phoneNet) DevicesOf(user types.JID) []types.JID { return []types.JID{user} }

func (n *phoneNet) BundleOf(dev types.JID) (handset.Bundle, bool) {
	b, err := n.phones[dev].Bundle()
	return b, err == nil
}

func (n *phoneNet) IdentityOf(user types.JID) (pn, lid types.JID, ok bool) {
	for _, p := range n.phones {
		if user == p.pn || user == p.lid {
			return p.pn, p.lid, true
		}
	}
	return pn, lid, false
}

func (n *phoneNet) LinkDevice(*Phone, handset.QR) error { return nil }
func (n *phoneNet) TypeCode(*Phone, string) error       { return nil }
func (n *phoneNet) UploadAgain(string) (string, bool)   { return "", false }
func (n *phoneNet) QueueFor(types.JID, waBinary.Node)   {}

func (n *phoneNet) SealHistory(*waHistorySync.HistorySync, bool) (*waE2E.HistorySyncNotification, error) {
	return nil, ErrNoAccount
}
func (n *phoneNet) StateKeys(*Phone) *waE2E.ProtocolMessage          { return nil }
func (n *phoneNet) StateCopy(*Phone, wa.WAPatchName) ([]byte, error) { return nil, ErrNoAccount }
func (n *phoneNet) ResetState(*Phone)                                {}

func (n *phoneNet) Save(p *Phone) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.saves[p.lid]++
}

// receipts counts what a phone sent of one type; "" is delivery.
func (n *phoneNet) receipts(from *Phone, kind string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, node := range n.routed {
		got, _ := node.Attrs["type"].(string)
		if node.Tag == "receipt" && node.Attrs["from"] == from.lid && got == kind {
			count++
		}
	}
	return count
}

func awaitText(t *testing.T, p *Phone, text string) Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := p.WaitReceived(ctx, func(r Received) bool { return r.Text == text })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sendText(t *testing.T, from, to *Phone, text string) string {
	t.Helper()
	id, err := from.SendText(context.Background(), to.JID(), text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPhonesTextBothWaysAndAcknowledge(t *testing.T) {
	n, phones := newPhoneNet(t, "5511", "5522")
	a, b := phones[0], phones[1]
	id := sendText(t, a, b, "hello")
	if r := awaitText(t, b, "hello"); r.ID != id || r.From != a.LID() || r.Chat != a.LID() || r.Count != 1 {
		t.Errorf("received %+v", r)
	}
	sendText(t, b, a, "hello yourself")
	awaitText(t, a, "hello yourself")
	b.Close()
	if got := n.receipts(b, ""); got != 1 {
		t.Errorf("%d delivery receipts, want 1", got)
	}
	if n.saves[a.lid] < 2 || n.saves[b.lid] < 2 {
		t.Errorf("saves %v: sending and receiving have to be saved", n.saves)
	}
}

func TestEchoIsAnsweredWithTheRest(t *testing.T) {
	_, phones := newPhoneNet(t, "5511", "5522")
	sendText(t, phones[0], phones[1], "echo echo echo done")
	awaitText(t, phones[0], "echo echo done")
	awaitText(t, phones[1], "echo done")
	awaitText(t, phones[0], "done")
}

func TestUndecryptableMessageIsRequestedAgain(t *testing.T) {
	for _, failures := range []int{1, 3} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			n, phones := newPhoneNet(t, "5511", "5522")
			left := failures
			n.mangle = func(_ waBinary.Node, ciphertext []byte) {
				if left > 0 {
					left--
					ciphertext[len(ciphertext)-12] ^= 1
				}
			}
			id := sendText(t, phones[0], phones[1], "hello")
			awaitText(t, phones[1], "hello")
			if got := n.receipts(phones[1], "retry"); got != failures {
				t.Errorf("%d retry receipts, want %d", got, failures)
			}
			if got := phones[1].ReceivedCount(id); got != 1 {
				t.Errorf("decrypted %d times, want 1", got)
			}
		})
	}
}

func TestConcurrentSendsAllArrive(t *testing.T) {
	_, phones := newPhoneNet(t, "5511", "5522")
	var sends sync.WaitGroup
	for i := range 40 {
		sends.Go(func() { sendText(t, phones[i%2], phones[(i+1)%2], fmt.Sprint(i)) })
	}
	sends.Wait()
	for i := range 40 {
		awaitText(t, phones[(i+1)%2], fmt.Sprint(i))
	}
	for _, p := range phones {
		if slices.ContainsFunc(p.Received(), func(r Received) bool { return r.Count != 1 }) {
			t.Errorf("%s decrypted a message twice", p.Number())
		}
	}
}
