package instance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/store"
	"postern/store/schema"
	"postern/whatsapp/proxy"
)

// SharedProxy is a proxy used by some instances, with all its uses.
type SharedProxy struct {
	Server    proxy.Server
	For       []proxy.Use // in the order of proxy.Uses
	Instances []string    // by name
}

// shared collects proxies of instances.
type shared map[proxy.Server]*SharedProxy

func (all shared) add(name string, p Proxy) {
	s := all[p.Server]
	if s == nil {
		s = &SharedProxy{Server: p.Server}
		all[p.Server] = s
	}
	s.Instances = append(s.Instances, name)
	var uses []proxy.Use
	for _, u := range proxy.Uses() {
		if slices.Contains(s.For, u) || slices.Contains(p.For, u) {
			uses = append(uses, u)
		}
	}
	s.For = uses
}

// list returns them by number of instances, largest first.
func (all shared) list() []SharedProxy {
	var list []SharedProxy
	for _, s := range all {
		slices.Sort(s.Instances)
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b SharedProxy) int {
		if d := len(b.Instances) - len(a.Instances); d != 0 {
			return d
		}
		return strings.Compare(a.Instances[0], b.Instances[0])
	})
	return list
}

// Proxies returns the proxies of single instances, except unreadable ones and those of
// moved instances.
func (r *Registry) Proxies() []SharedProxy {
	all := shared{}
	for _, rec := range r.List() {
		if p, err := r.Proxy(rec.ID); err == nil && !rec.HasMoved() {
			all.add(rec.Name, p)
		}
	}
	return all.list()
}

// ProxiesIn is Proxies for a data file that no program has open. buckets and errors are
// those of store.ScanFile.
func ProxiesIn(path string, buckets []schema.Bucket) ([]SharedProxy, error) {
	names := map[int64]string{}
	err := store.ScanFile(path, buckets, instances, func(k, v []byte) error {
		var rec Record
		if json.Unmarshal(v, &rec) == nil && !rec.HasMoved() {
			names[store.Number(k)] = rec.Name
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := shared{}
	err = store.ScanFile(path, buckets, proxies, func(k, v []byte) error {
		var p storedProxy
		name, there := names[store.Number(k)]
		if !there || json.Unmarshal(v, &p) != nil || checkUses(p.For) != nil {
			return nil
		}
		if s, err := proxy.Parse(p.URL); err == nil {
			all.add(name, Proxy{Server: s, For: p.For})
		}
		return nil
	})
	return all.list(), err
}

// trialsAtOnce bounds the concurrent trial dials, trialTime each dial.
const (
	trialsAtOnce = 32
	trialTime    = 5 * time.Second
)

// TryProxies dials WhatsApp through each of these proxies and returns the results in
// their order. Its error is the cause of ctx's end, or that the program stops.
func (s *Supervisor) TryProxies(ctx context.Context, all []SharedProxy) ([]ProxyTrial, error) {
	trials := make([]ProxyTrial, len(all))
	errs := make([]error, len(all))
	turns := make(chan struct{}, trialsAtOnce)
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			bounded, cancel := context.WithTimeout(ctx, trialTime)
			defer cancel()
			trials[i], errs[i] = s.try(bounded, p.Server, p.For)
		})
	}
	wg.Wait()
	return trials, errors.Join(append(errs, context.Cause(ctx))...)
}

// try dials WhatsApp through a proxy.
func (s *Supervisor) try(ctx context.Context, via proxy.Server, uses []proxy.Use) (ProxyTrial, error) {
	start := time.Now()
	err := s.probe(ctx, via, uses)
	trial := ProxyTrial{Latency: time.Since(start)}
	if failed, ok := errors.AsType[*proxy.Error](err); ok {
		trial.Failed, err = failed, nil
	}
	return trial, err
}
