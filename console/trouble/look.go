package trouble

import (
	"cmp"
	"slices"
	"time"

	"postern/delivery/receivers"
	"postern/event"
)

// When conditions begin, end, and become worse.
const (
	offlineAfter  = 2 * time.Minute
	offlineBroken = 10 * time.Minute
	onlineAfter   = 10 * time.Second
	failingBroken = time.Minute
	waitingAfter  = 5 * time.Minute
	stuckAfter    = 2 * time.Minute
	failingItems  = 20
)

// pass is one look at all parts.
type pass struct {
	w      *Watch
	now    time.Time
	found  []Finding
	marks  map[mark]bool // conditions that were seen
	online map[int64]bool
}

func (p *pass) look() {
	p.instances()
	p.receivers()
	p.batches()
	for _, c := range p.w.cfg.Program() {
		since := c.Since
		if since.IsZero() {
			since = p.since(c.Kind, c.Text)
		}
		p.add(Finding{Kind: c.Kind, Severity: c.Severity, Since: since, Name: c.Text})
	}
	slices.SortFunc(p.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name))
	})
}

func (p *pass) add(f Finding) {
	f.Since = f.Since.Round(0).UTC().Truncate(time.Millisecond)
	p.found = append(p.found, f)
}

// since returns since when a condition has been seen.
func (p *pass) since(k Kind, id string) time.Time {
	m := mark{k, id}
	p.marks[m] = true
	at, known := p.w.first[m]
	if !known {
		at = p.now
		p.w.first[m] = at
	}
	return at
}

func (p *pass) instances() {
	p.online = map[int64]bool{}
	there := map[int64]bool{}
	for _, a := range p.w.cfg.Accounts() {
		there[a.ID], p.online[a.ID] = true, a.State == event.Online
		offline := p.line(a)
		add := func(k Kind, s Severity, since time.Time) {
			p.add(Finding{Kind: k, Severity: s, Since: since, ID: a.Name, Name: a.Name, Instance: a.ID})
		}
		if k, s, since := p.connection(a, offline); k != "" {
			add(k, s, since)
		}
		if p.online[a.ID] {
			if s, since := p.phone(a); s != "" {
				add(PhoneNotSeen, s, since)
			}
		}
		if a.Unanswered {
			add(Undelivered, Attention, p.since(Undelivered, a.Name))
		}
	}
	for id := range p.w.accounts {
		if !there[id] {
			delete(p.w.accounts, id)
		}
	}
}

// line notes whether an account is online, and returns since when it is not; zero: it is.
func (p *pass) line(a Account) time.Time {
	l := p.w.accounts[a.ID]
	if l == nil {
		l = &line{}
		p.w.accounts[a.ID] = l
	}
	switch {
	case a.State != event.Online:
		l.online = time.Time{}
		if l.offline.IsZero() {
			l.offline = p.now
		}
	case l.online.IsZero():
		l.online = p.now
	}
	if !l.online.IsZero() && (l.offline.IsZero() || p.now.Sub(l.online) >= onlineAfter) {
		l.offline = time.Time{}
	}
	return l.offline
}

// connection returns the first that applies of what can be wrong with the connection of an account.
func (p *pass) connection(a Account, offline time.Time) (k Kind, s Severity, since time.Time) {
	known := func(k Kind) time.Time {
		if !a.StateSince.IsZero() {
			return a.StateSince
		}
		return p.since(k, a.Name)
	}
	switch {
	case a.Moved:
	case (a.State == event.LoggedOut || a.State == event.SessionMissing) && !a.ByCall:
		return InstanceLoggedOut, Broken, known(InstanceLoggedOut)
	case a.Elsewhere:
		return InstanceWrongNetwork, Broken, known(InstanceWrongNetwork)
	case a.State == event.ClientOutdated:
		return InstanceOutdated, Broken, known(InstanceOutdated)
	case a.Paired && !a.Dials && stopped(a.State):
		return InstanceStopped, Broken, known(InstanceStopped)
	case !a.Restricted.IsZero():
		return InstanceRestricted, Attention, a.Restricted
	case a.Paired && a.Dials && !offline.IsZero() && p.now.Sub(offline) >= offlineAfter:
		if p.now.Sub(offline) >= offlineBroken {
			return InstanceOffline, Broken, offline
		}
		return InstanceOffline, Attention, offline
	}
	return "", "", since
}

// stopped reports whether an account in a state is not connected.
func stopped(s event.State) bool {
	return slices.Contains([]event.State{event.StreamReplaced, event.Disconnected, event.ConnectionError, event.ConnectionTimeout, event.KeepAliveTimeout, event.Reconnecting}, s)
}

// phone returns how bad it is that the phone of an account gave no sign, and since when it is.
func (p *pass) phone(a Account) (s Severity, since time.Time) {
	seen := a.PhoneSeen
	if seen.IsZero() || p.w.cfg.PhoneAttention == 0 {
		return "", since
	}
	silent := p.now.Sub(seen)
	switch {
	case p.w.cfg.PhoneBroken > 0 && silent >= p.w.cfg.PhoneBroken:
		return Broken, seen.Add(p.w.cfg.PhoneAttention)
	case silent >= p.w.cfg.PhoneAttention:
		return Attention, seen.Add(p.w.cfg.PhoneAttention)
	}
	return "", since
}

func (p *pass) receivers() {
	if now := p.now; !now.Before(p.w.rowsNext) || p.w.rowsNext.Sub(now) > every {
		began := time.Now()
		rows, err := p.w.cfg.Receivers()
		if err != nil {
			p.w.log.Warn("the receivers cannot be read; their troubles stay as they were", "error", err)
			rows = p.w.rows
		}
		p.w.rows, p.w.rowsNext = rows, now.Add(max(often, part*time.Since(began))-often/10)
	}
	for _, r := range p.w.rows {
		p.receiver(r)
	}
}

func (p *pass) receiver(r receivers.Row) {
	name := r.Name
	if r.Endpoint != "" {
		name += "/" + r.Endpoint
	}
	if r.ID == receivers.Global {
		name = "global"
	}
	add := func(k Kind, s Severity, since time.Time, waiting int) {
		p.add(Finding{Kind: k, Severity: s, Since: since, Origin: r.Origin, Waiting: waiting, ID: string(r.ID), Name: name, Instance: r.Instance})
	}
	if r.State == receivers.Failing {
		s := Attention
		if p.now.Sub(r.Since) >= failingBroken {
			s = Broken
		}
		add(ReceiverFailing, s, r.Since, r.Waiting)
	}
	if r.Lost > 0 {
		add(EventsLost, Attention, r.LostSince, r.Waiting)
	}
	if r.Waiting == 0 || r.Oldest.IsZero() {
		return
	}
	age := p.now.Sub(r.Oldest)
	half := r.MaxAge > 0 && age > r.MaxAge/2
	patient := r.State == receivers.Paused || r.Target == receivers.TargetConsumer
	switch {
	case half:
		add(EventsWaiting, Broken, p.since(EventsWaiting, string(r.ID)), r.Waiting)
	case age > waitingAfter && !patient:
		add(EventsWaiting, Attention, p.since(EventsWaiting, string(r.ID)), r.Waiting)
	}
}

func (p *pass) batches() {
	waits := map[string]bool{}
	for _, j := range p.w.cfg.Jobs() {
		add := func(k Kind, s Severity, since time.Time) {
			p.add(Finding{Kind: k, Severity: s, Since: since, ID: j.ID.String(), Name: j.Name, Owner: j.Owner, Batch: j.ID})
		}
		if j.Status == event.BatchWaitingForInstance {
			waits[j.ID.String()] = true
			since, known := p.w.waiting[j.ID]
			if !known {
				if since = j.UpdatedAt; since.After(p.now) {
					since = p.now
				}
				p.w.waiting[j.ID] = since
			}
			online := slices.ContainsFunc(j.Instances, func(id int64) bool { return p.online[id] })
			if !online && p.now.Sub(since) >= stuckAfter {
				add(BatchStuck, Broken, since)
			}
		}
		if runs(j.Status) && j.Ended >= failingItems && j.Failed*5 >= j.Ended {
			add(BatchFailing, Attention, p.since(BatchFailing, j.ID.String()))
		}
	}
	for id := range p.w.waiting {
		if !waits[id.String()] {
			delete(p.w.waiting, id)
		}
	}
}

func runs(s event.BatchStatus) bool {
	return s == event.BatchProcessing || s == event.BatchWaitingForInstance || s == event.BatchWaitingForWindow
}
