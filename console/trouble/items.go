package trouble

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Bounds of an answer.
const (
	maxSubjects = 20
	maxOrigins  = 50 // of a kind; one item more has the rest
	maxBytes    = 256 << 10
)

// Finding is one thing that is wrong with one subject.
type Finding struct {
	Kind     Kind
	Severity Severity
	Since    time.Time
	Origin   string // of receivers
	Waiting  int    // of receivers

	ID   string // of the subject
	Name string
	// Who may see it: the instance of an instance or of a receiver, 0 for the global webhook; the owner and id of a
	// batch.
	Instance int64
	Owner    uuid.UUID
	Batch    uuid.UUID
}

// Subject is what an item is about.
type Subject struct {
	Type     Type       `json:"type"`
	ID       string     `json:"id" doc:"The name of an instance, the id of a receiver or of a batch; empty for the program." example:"shop"`
	Name     string     `json:"name" doc:"A name for people: for the program the reason." example:"shop"`
	Since    event.Time `json:"since" doc:"When it began." example:"$time"`
	Severity Severity   `json:"severity"`
}

// Item is one kind of trouble, of receivers at one origin.
type Item struct {
	ID       string     `json:"id" doc:"The kind and the origin; the same as long as the item exists." example:"INSTANCE_LOGGED_OUT"`
	Kind     Kind       `json:"kind"`
	Severity Severity   `json:"severity"`
	Since    event.Time `json:"since" doc:"When the oldest of its subjects began." example:"$time"`
	Count    int        `json:"count" doc:"How many subjects it has." example:"2" rules:"minimum=1"`
	Subjects []Subject  `json:"subjects" doc:"The worst of them, up to 20: broken first, then the oldest."`
	Origin   *string    `json:"origin" doc:"Scheme, host and port of the receivers; null for other kinds, and for the item with the rest of more than 50 origins." example:"https://hooks.example.org:443"`
	Waiting  int        `json:"waiting" doc:"How many events wait for the receivers." example:"60" rules:"minimum=0"`
	Text     string     `json:"text" doc:"What is wrong, in English, without a time." example:"2 instances are logged out"`
	Advice   string     `json:"advice" doc:"What to do, in English." example:"Pair it again, or log it out by the API if it is not wanted any more."`
	Link     string     `json:"link" doc:"The page of the console that lists exactly these." example:"/dashboard#/instances?trouble=INSTANCE_LOGGED_OUT"`
}

// Viewer says what a credential may see. A nil function allows nothing.
type Viewer struct {
	Operator   bool // the program's own, too
	Instance   func(id int64) bool
	Deliveries bool // of those instances
	Global     bool // the global webhook
	Batch      func(owner, id uuid.UUID) bool
}

// Everything is the viewer of the operator.
func Everything() Viewer {
	return Viewer{Operator: true, Instance: func(int64) bool { return true }, Deliveries: true, Global: true, Batch: func(uuid.UUID, uuid.UUID) bool { return true }}
}

func (v Viewer) sees(f *Finding) bool {
	switch lookup(f.Kind).of {
	case Program:
		return v.Operator
	case Batch:
		return v.Batch != nil && v.Batch(f.Owner, f.Batch)
	case Receiver:
		if !v.Deliveries {
			return false
		}
		if f.Instance == 0 {
			return v.Global
		}
	case Instance:
	}
	return v.Instance != nil && v.Instance(f.Instance)
}

// group is an item that is being made.
type group struct {
	kind     Kind
	origin   string
	rest     bool
	findings []*Finding
}

// itemsOf groups findings for a viewer: broken before attention, then the oldest first.
func itemsOf(all []Finding, v Viewer) []Item {
	groups := grouped(all, v)
	items := make([]Item, 0, len(groups))
	for _, g := range groups {
		items = append(items, g.item(maxSubjects))
	}
	for most := maxSubjects; most > 1 && tooLarge(items); {
		most /= 2
		for i, g := range groups {
			items[i] = g.item(most)
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(a.Severity.compare(b.Severity), a.Since.Compare(b.Since.Time), cmp.Compare(a.ID, b.ID))
	})
	return items
}

// compare orders the worse first.
func (s Severity) compare(other Severity) int {
	switch s {
	case other:
		return 0
	case Broken:
		return -1
	default:
		return 1
	}
}

func tooLarge(items []Item) bool {
	raw, err := json.Marshal(items)
	return err == nil && len(raw) > maxBytes-1024
}

// grouped returns the findings that a viewer may see by kind and origin. Of more than maxOrigins of a kind, those
// that are worst or oldest have a group of their own.
func grouped(all []Finding, v Viewer) []*group {
	type key struct {
		kind   Kind
		origin string
	}
	by := map[key]*group{}
	var order []*group
	for i := range all {
		f := &all[i]
		if !v.sees(f) {
			continue
		}
		k := key{f.Kind, f.Origin}
		g := by[k]
		if g == nil {
			g = &group{kind: f.Kind, origin: f.Origin}
			by[k] = g
			order = append(order, g)
		}
		g.findings = append(g.findings, f)
	}
	for _, g := range order {
		slices.SortFunc(g.findings, func(a, b *Finding) int {
			return cmp.Or(a.Severity.compare(b.Severity), a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
		})
	}
	slices.SortStableFunc(order, func(a, b *group) int {
		x, y := a.findings[0], b.findings[0]
		return cmp.Or(x.Severity.compare(y.Severity), a.since().Compare(b.since()), cmp.Compare(a.origin, b.origin))
	})
	origins, rests := map[Kind]int{}, map[Kind]*group{}
	kept := order[:0]
	for _, g := range order {
		if lookup(g.kind).of != Receiver {
			kept = append(kept, g)
			continue
		}
		if origins[g.kind]++; origins[g.kind] <= maxOrigins {
			kept = append(kept, g)
			continue
		}
		rest := rests[g.kind]
		if rest == nil {
			rest = &group{kind: g.kind, rest: true}
			rests[g.kind] = rest
			kept = append(kept, rest)
		}
		rest.findings = append(rest.findings, g.findings...)
	}
	return kept
}

func (g *group) since() time.Time {
	oldest := g.findings[0].Since
	for _, f := range g.findings {
		if f.Since.Before(oldest) {
			oldest = f.Since
		}
	}
	return oldest
}

// item returns the item with up to most subjects.
func (g *group) item(most int) Item {
	row := lookup(g.kind)
	i := Item{ID: string(g.kind), Kind: g.kind, Severity: g.findings[0].Severity, Since: event.At(g.since()), Count: len(g.findings), Subjects: []Subject{}}
	for n, f := range g.findings {
		i.Waiting += f.Waiting
		if f.Severity == Broken {
			i.Severity = Broken
		}
		if n < most {
			i.Subjects = append(i.Subjects, Subject{row.of, f.ID, f.Name, event.At(f.Since), f.Severity})
		}
	}
	if row.of == Receiver && !g.rest {
		i.Origin = &g.origin
		i.ID += " " + g.origin
	}
	if row.of == Receiver && g.rest {
		i.ID += " *"
	}
	i.Link = "/dashboard#/" + strings.ReplaceAll(row.page, "%s", url.QueryEscape(g.origin))
	i.Text, i.Advice = row.text(i), row.advice
	return i
}

// ETag identifies items.
func ETag(items []Item) string {
	raw, err := json.Marshal(items)
	if err != nil {
		return ""
	}
	return `W/"` + strconv.FormatUint(hash(raw), 16) + `"`
}

// hash is 64-bit FNV-1a.
func hash(raw []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range raw {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
