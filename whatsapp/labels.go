package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	wastore "go.mau.fi/whatsmeow/store"
	waLog "go.mau.fi/whatsmeow/util/log"

	"postern/event"
)

// BusinessLabels acts on the labels of a business account. It implements instance.Labels.
type BusinessLabels struct {
	calls *calls
	state *AppState

	mu sync.Mutex // held while labels are read and changed; taken before state.changing
}

// knownLabel is a label that exists or existed.
type knownLabel struct {
	event.Label

	deleted bool
}

// Labels implements instance.Labels.
func (ls *BusinessLabels) Labels(ctx context.Context) ([]event.Label, error) {
	known, err := ls.knownLabels(ctx)
	if err != nil {
		return nil, err
	}
	all := []event.Label{}
	for _, l := range known {
		if !l.deleted {
			all = append(all, l.Label)
		}
	}
	return all, nil
}

// knownLabels reads all labels, including deleted ones, sorted by id.
//
// The library stores no labels, and sends no events for those older than the pairing.
// The collection is therefore read completely into a decoder that stores nothing,
// besides the library's own reading of it.
func (ls *BusinessLabels) knownLabels(ctx context.Context) ([]knownLabel, error) {
	known := map[string]knownLabel{}
	err := ls.calls.ask(ctx, "read the labels", func(ctx context.Context, cli *whatsmeow.Client) error {
		return readState(ctx, cli, appstate.WAPatchRegular, func(m appstate.Mutation) {
			if len(m.Index) < 2 || m.Index[0] != appstate.IndexLabelEdit {
				return
			}
			edit := m.Action.GetLabelEditAction()
			known[m.Index[1]] = knownLabel{
				Label:   event.Label{ID: m.Index[1], Name: edit.GetName(), Color: int(edit.GetColor())},
				deleted: edit.GetDeleted() || m.Operation == waServerSync.SyncdMutation_REMOVE,
			}
		})
	})
	if err != nil {
		return nil, err
	}
	all := make([]knownLabel, 0, len(known))
	for _, l := range known {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b knownLabel) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) // they are numbers
	})
	return all, nil
}

// readState calls change for every change of a collection in order, starting with the
// snapshot.
func readState(ctx context.Context, cli *whatsmeow.Client, name appstate.WAPatchName, change func(appstate.Mutation)) error {
	inside := cli.DangerousInternals() //nolint:staticcheck // "deprecated" warns of changes; the version is pinned
	nothing := &wastore.NoopStore{}    // discards what the decoder stores
	decoder := appstate.NewProcessor(&wastore.Device{AppState: nothing, AppStateKeys: cli.Store.AppStateKeys}, waLog.Noop)
	var state appstate.HashState
	for first := true; ; first = false {
		list, err := inside.FetchAppStatePatches(ctx, name, state.Version, first)
		if err != nil {
			return err
		}
		before := state.Version
		mutations, next, err := decoder.DecodePatches(ctx, list, state, false)
		if errors.Is(err, appstate.ErrKeyNotFound) {
			return fmt.Errorf("%w: the phone has not sent its keys to this device yet: %w", event.ErrNotConnected, err)
		}
		if err != nil {
			return fmt.Errorf("decode %s: %w", name, err)
		}
		for _, m := range mutations {
			change(m)
		}
		if state = next; !list.HasMorePatches || state.Version == before {
			return nil
		}
	}
}

// EditLabel implements instance.Labels.
func (ls *BusinessLabels) EditLabel(ctx context.Context, id string, change event.LabelChange) (event.Label, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, err := ls.label(ctx, id)
	if err != nil {
		return event.Label{}, err
	}
	l = change.Apply(l)
	return l, ls.editLabel(ctx, l, false)
}

// DeleteLabel implements instance.Labels.
func (ls *BusinessLabels) DeleteLabel(ctx context.Context, id string) (event.Label, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, err := ls.label(ctx, id)
	if err != nil {
		return event.Label{}, err
	}
	return l, ls.editLabel(ctx, l, true)
}

func (ls *BusinessLabels) label(ctx context.Context, id string) (event.Label, error) {
	all, err := ls.Labels(ctx)
	if err != nil {
		return event.Label{}, err
	}
	i := slices.IndexFunc(all, func(l event.Label) bool { return l.ID == id })
	if i < 0 {
		return event.Label{}, fmt.Errorf("%w: %s", event.ErrNoLabel, id)
	}
	return all[i], nil
}

// CreateLabel implements instance.Labels. It does not reuse the id of a deleted label:
// chats may still refer to it.
func (ls *BusinessLabels) CreateLabel(ctx context.Context, name string, color int) (event.Label, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	known, err := ls.knownLabels(ctx)
	if err != nil {
		return event.Label{}, err
	}
	highest := 0
	for _, l := range known {
		if n, err := strconv.Atoi(l.ID); err == nil {
			highest = max(highest, n)
		}
	}
	l := event.Label{ID: strconv.Itoa(highest + 1), Name: name, Color: color}
	return l, ls.editLabel(ctx, l, false)
}

func (ls *BusinessLabels) editLabel(ctx context.Context, l event.Label, deleted bool) error {
	color := int32(l.Color) //nolint:gosec // an index into a small palette
	return ls.state.change(ctx, "change the label", appstate.BuildLabelEdit(l.ID, l.Name, color, deleted))
}

// LabelChat implements instance.Labels.
func (ls *BusinessLabels) LabelChat(ctx context.Context, label, chat string, labeled bool) error {
	jid, err := chatJID(chat)
	if err != nil {
		return fmt.Errorf("label the chat: %w", err)
	}
	return ls.state.change(ctx, "label the chat", appstate.BuildLabelChat(jid, label, labeled))
}
