package doctor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"postern/app/upstream"
	"postern/instance"
	"postern/internal/plural"
)

const (
	maxProxies  = 100              // that are tried of a stopped program, as a running one does
	proxiesTime = 30 * time.Second // for a running program to try all of them
)

// proxyTried is a proxy of some instances with the result of a dial.
type proxyTried struct {
	url       string
	instances []string
	failed    string // empty: WhatsApp was reached
}

// proxies dials WhatsApp through each proxy that single instances have, once.
func (r *examination) proxies(ctx context.Context) (all []Finding) {
	const check = "proxies"
	if r.Config.Sandbox.Enabled {
		return one(check, OK, "", "not checked: the built-in sandbox replaces WhatsApp")
	}
	if r.unknown != nil {
		return one(check, Warning, "see the other findings, and run this again", "they are not known: %v", r.unknown)
	}
	try := r.tryProxies
	if r.running {
		try = r.askProxies
	}
	tried, untried, err := try(ctx)
	if err != nil {
		return one(check, Warning, "see the other findings, and run this again", "they were not tried: %v", why(ctx, err))
	}
	for _, p := range tried {
		if p.failed != "" {
			all = append(all, one(check, Warning, "ask its provider, or set another proxy; docs/accounts.md explains each failure", "%s, of %s: %s", p.url, few(p.instances), p.failed)...)
		}
	}
	if untried > 0 {
		all = append(all, one(check, Warning, "try those of single instances by POST /instance/{i}/proxy/test", "%s not tried", plural.Of(untried, "more proxy was", "more proxies were"))...)
	}
	switch {
	case len(all) > 0:
		return all
	case len(tried) == 0:
		return one(check, OK, "", "no instance has one of its own")
	}
	return one(check, OK, "", "WhatsApp is reached through %s of single instances", plural.Of(len(tried), "proxy"))
}

// askProxies asks the running program to dial.
func (r *examination) askProxies(ctx context.Context) (all []proxyTried, untried int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, proxiesTime, fmt.Errorf("no answer within %v", proxiesTime))
	defer cancel()
	var answer struct {
		Proxies []struct {
			URL       string
			Instances []string
			Trial     struct {
				OK    bool
				Error string
			}
		}
		Untried int
	}
	if err := r.Ask(ctx, "POST", "/admin/proxies/test", &answer); err != nil {
		return nil, 0, err
	}
	for _, p := range answer.Proxies {
		t := proxyTried{p.URL, p.Instances, p.Trial.Error}
		if !p.Trial.OK && t.failed == "" {
			t.failed = "it failed"
		}
		all = append(all, t)
	}
	return all, answer.Untried, nil
}

// tryProxies dials through the proxies in the file.
func (r *examination) tryProxies(ctx context.Context) (all []proxyTried, untried int, err error) {
	if r.none {
		return nil, 0, nil
	}
	known, err := instance.ProxiesIn(r.Config.Store.Path, r.Buckets)
	if err != nil {
		return nil, 0, err
	}
	some := known[:min(len(known), maxProxies)]
	all = make([]proxyTried, len(some))
	var wg sync.WaitGroup
	for i, p := range some {
		wg.Go(func() {
			ctx, cancel := limited(ctx)
			defer cancel()
			all[i] = proxyTried{url: p.Server.String(), instances: p.Instances}
			if err := upstream.ReachThrough(ctx, r.Config, p); err != nil {
				all[i].failed = strings.TrimSpace(why(ctx, err).Error())
			}
		})
	}
	wg.Wait()
	return all, len(known) - len(some), nil
}
