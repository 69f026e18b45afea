package network

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/whatsmeow/proto/waWa6"
	wastore "go.mau.fi/whatsmeow/store"
)

// ReasonOutdated is the reason of a login that is refused for the client's version.
const ReasonOutdated = 405

// Site is the answer of WhatsApp's site to a request for the current version.
type Site string

// Values of Site. All but the first two are useless to a client.
const (
	SiteCurrent     Site = "current"     // the current version
	SiteLate        Site = "late"        // the same after three seconds
	SiteNone        Site = "none"        // no version
	SiteLower       Site = "lower"       // a version older than any client
	SiteMajor       Site = "major"       // a version of another kind of client
	SiteEndless     Site = "endless"     // a page that does not end
	SiteSlow        Site = "slow"        // a page sent byte by byte
	SiteLoop        Site = "loop"        // endless redirects
	SiteElsewhere   Site = "elsewhere"   // a redirect to another host
	SiteUnavailable Site = "unavailable" // an error, with a long page
)

// Sites returns all values.
func Sites() []Site {
	return []Site{SiteCurrent, SiteLate, SiteNone, SiteLower, SiteMajor, SiteEndless, SiteSlow, SiteLoop, SiteElsewhere, SiteUnavailable}
}

// ParseVersion parses the version of a client, such as 2.3000.1045649367.
func ParseVersion(text string) (v wastore.WAVersionContainer, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || strconv.FormatUint(n, 10) != part {
			return v, false
		}
		v[i] = uint32(n)
	}
	return v, true
}

// RequireVersion refuses the logins and pairings of all clients older than least, and
// disconnects the connected ones. The zero version accepts all.
func (s *Server) RequireVersion(least wastore.WAVersionContainer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.least = least
	for c := range s.conns {
		if s.outdated(c) {
			c.drop(errDropped)
		}
	}
}

// SetSite sets the answer of the site, which contains the required version or, if none
// is required, that of the client library of this program.
func (s *Server) SetSite(site Site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.site = site
}

// Asked returns the number of requests to the site, by the host name used.
func (s *Server) Asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}

// outdated reports whether an introduced client is refused. The caller holds the mutex.
func (s *Server) outdated(c *conn) bool {
	return !c.version.IsZero() && c.version.LessThan(s.least)
}

func clientVersion(p *waWa6.ClientPayload) wastore.WAVersionContainer {
	v := p.GetUserAgent().GetAppVersion()
	return wastore.WAVersionContainer{v.GetPrimary(), v.GetSecondary(), v.GetTertiary()}
}

// late is the delay of SiteLate.
const late = 3 * time.Second

// maxHosts is how many host names are counted.
const maxHosts = 16

// visit counts a request to the site and returns the answer to give.
func (s *Server) visit(host string) (site Site, current wastore.WAVersionContainer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.asked[host]; known || len(s.asked) < maxHosts {
		s.asked[host]++
	}
	current = wastore.GetWAVersion()
	if current.LessThan(s.least) {
		current = s.least
	}
	return s.site, current
}

// serveSite serves the site.
func (s *Server) serveSite(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		http.Error(w, ErrClosed.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.tasks.Done()
	site, current := s.visit(r.Host)
	w.Header().Set("Content-Type", `text/html; charset="utf-8"`)
	switch site {
	case SiteLate:
		select {
		case <-time.After(late):
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprint(w, page(revision(strconv.FormatUint(uint64(current[2]), 10))))
	case SiteNone:
		_, _ = fmt.Fprint(w, page(""))
	case SiteLower:
		_, _ = fmt.Fprint(w, page(revision("1000")))
	case SiteMajor:
		_, _ = fmt.Fprint(w, page(`"client_version":"3.1000.`+strconv.FormatUint(uint64(current[2])+1, 10)+`",`))
	case SiteEndless:
		pour(w, strings.Repeat("<!-- more -->\n", 1024), 0)
	case SiteSlow:
		pour(w, "<", 200*time.Millisecond)
	case SiteLoop:
		http.Redirect(w, r, "/", http.StatusFound)
	case SiteElsewhere:
		http.Redirect(w, r, "https://mmg.whatsapp.net/", http.StatusFound)
	case SiteUnavailable:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprint(w, strings.Repeat(page(revision(strconv.FormatUint(uint64(current[2]), 10))), 100))
	default:
		_, _ = fmt.Fprint(w, page(revision(strconv.FormatUint(uint64(current[2]), 10))))
	}
}

// pour writes until the reader is gone.
func pour(w http.ResponseWriter, part string, pause time.Duration) {
	out := http.NewResponseController(w)
	for {
		_ = out.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := fmt.Fprint(w, part); err != nil || out.Flush() != nil {
			return
		}
		time.Sleep(pause)
	}
}

func revision(n string) string { return `"client_revision":` + n + `,` }

// page is the site's page around the version: a script that the browser loads, with the
// version among many settings.
func page(said string) string {
	return `<!DOCTYPE html><html id="whatsapp-web" class="no-js" dir="ltr" loc="en"><head><meta charset="utf-8"/><title>WhatsApp Web</title>` +
		`<script type="application/json" data-sjs>{"require":[["ScheduledServerJS","handle",null,[{"__bbox":{"define":[["SiteData",[],{"server_revision":1000,` +
		said + `"push_phase":"C3","pkg_cohort":"BP:whatsapp_www_pkg","haste_site":"www","ir_on":true,"is_rtl":false},317]]}}]]]}</script>` +
		`</head><body><div id="app"></div></body></html>`
}
