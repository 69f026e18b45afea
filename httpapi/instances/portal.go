package instances

import (
	"errors"
	"net/http"
	"time"

	"postern/access"
	"postern/event"
	"postern/httpapi/rest"
)

// Portal is the appearance of the page behind a portal link.
type Portal struct {
	Page     http.Handler // of the page itself; nil: there are no portal links
	Title    string
	Accent   string // a colour as #rrggbb; empty: that of the page
	Logo     []byte // empty: none
	LogoType string // a media type
}

type portalLinkRequest struct {
	ExpiresIn int64 `json:"expiresIn" strict:"required"` // seconds
}

// MadePortalLink is a new portal link.
type MadePortalLink struct {
	URL       string     `json:"url" doc:"The link." example:"https://postern.example.org/portal/q2Zk"`
	ExpiresAt event.Time `json:"expiresAt" doc:"When it expires." example:"$time"`
}

// PortalLinkLife bounds the life of a portal link, in seconds.
func PortalLinkLife() rest.Lifetime {
	return rest.Lifetime{Least: 1, Most: int64(access.MaxLinkLife / time.Second)}
}

// makePortalLink makes a link to the pairing of the instance. The link has no more rights than the credential
// that makes it, and ends with that credential.
func (a *API) makePortalLink(c *rest.Call) error {
	var in portalLinkRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := PortalLinkLife().Check(in.ExpiresIn); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	link := access.Link{Instance: c.Instance.ID, ExpiresAt: a.Store.Now().UTC().Add(time.Duration(in.ExpiresIn) * time.Second).Truncate(time.Millisecond)}
	switch {
	case c.Key != nil:
		link.Key = c.Key.ID
	case c.Operator:
		link.Digest = c.OperatorBinding()
	default:
		link.Digest = c.Instance.TokenDigest()
	}
	secret, err := a.Access.Links.Make(c.Request.Context(), link)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, MadePortalLink{c.PublicURL() + "/portal/" + secret, event.At(link.ExpiresAt)})
}

// takeCode limits the pairing codes that a portal link requests: its user may name any
// number, and the phone of that number shows a notification.
func (a *API) takeCode(c *rest.Call) error {
	if c.Link == nil {
		return nil
	}
	wait, err := a.Access.Links.TakeCode(c.Request.Context(), c.Params.ByName("token"))
	switch {
	case errors.Is(err, access.ErrNoLink):
		return rest.LinkExpired()
	case err != nil:
		return err
	case wait > 0:
		return rest.TryLater(wait, rest.CodeRateLimited, "the limit of pairing codes is reached: 5 in 15 minutes for a link, and 20 a day for all links of an instance")
	}
	return nil
}

// portalPage sends the page. For an expired link it answers 404, with a page in the reader's language.
func (a *API) portalPage(c *rest.Call) error {
	err := c.OpenPortal()
	if r, _ := c.AnswerTo(err); err != nil && r.Status != http.StatusNotFound || a.Portal.Page == nil {
		return errors.Join(err, rest.LinkExpired())
	}
	if err == nil {
		a.Portal.Page.ServeHTTP(c.Response, c.Request)
		return nil
	}
	r := c.Request.Clone(c.Request.Context())
	r.Header.Del("If-None-Match")
	a.Portal.Page.ServeHTTP(notFoundWriter{c.Response}, r)
	return nil
}

// notFoundWriter answers 404, whatever status its writer sets.
type notFoundWriter struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (w notFoundWriter) Write(p []byte) (int, error) {
	w.ResponseWriter.WriteHeader(http.StatusNotFound)
	return w.ResponseWriter.Write(p)
}

// WriteHeader implements http.ResponseWriter.
func (w notFoundWriter) WriteHeader(int) { w.ResponseWriter.WriteHeader(http.StatusNotFound) }

// CodePortalNotAvailable is the code of all that keeps a link from pairing now and that only the operator
// can change or look into.
const CodePortalNotAvailable = "PORTAL_NOT_AVAILABLE"

// forCustomer is h for the customer of a portal link, who learns neither why the instance does not connect nor
// what an operator would do about it.
func forCustomer(h rest.Handler) rest.Handler {
	return func(c *rest.Call) error {
		err := h(c)
		if err == nil {
			return nil
		}
		if r, known := c.AnswerTo(err); !known || !operatorOnly(r.Code) && (r.Status < 500 || r.Code == rest.CodeShuttingDown) {
			return err
		}
		return rest.Refuse(http.StatusServiceUnavailable, CodePortalNotAvailable, "not available now; try again later")
	}
}

// operatorOnly reports whether a customer can do nothing about a code below 500.
func operatorOnly(code string) bool { return code == "INSTANCE_MOVED" || code == rest.CodeWrongNetwork }

// forCustomerCodes returns the codes of a route with forCustomer.
func forCustomerCodes(codes rest.Codes) rest.Codes {
	shown := rest.Codes{CodePortalNotAvailable}
	for _, code := range codes {
		switch {
		case operatorOnly(code), code == wrongNetworkConflict, code == "INSTANCE_NOT_CONNECTED", code == "CLIENT_OUTDATED":
		default:
			shown = append(shown, code)
		}
	}
	return shown
}

// PortalState is all data that the page shows.
type PortalState struct {
	InstanceName     string              `json:"instanceName"`
	State            string              `json:"state" doc:"open, connecting or close." example:"connecting"`
	ConnectionStatus string              `json:"connectionStatus"`
	Passkey          *event.PasskeyState `json:"passkey,omitempty" doc:"The state of a passkey pairing; absent otherwise."`
	ExpiresAt        event.Time          `json:"expiresAt" doc:"When the link expires." example:"$time"`
	Title            string              `json:"title" doc:"The setting console.title." example:"Postern"`
	Accent           string              `json:"accent" doc:"The setting console.accent; empty: the page's default colour." example:"#2f47b8"`
	Logo             bool                `json:"logo" doc:"Whether there is a logo." example:"false"`
}

func (a *API) showPortal(c *rest.Call) error {
	got, err := a.Supervisor.Status(c.Instance.ID)
	if err != nil {
		return err
	}
	out := PortalState{
		InstanceName: got.Record.Name, State: SocketState(got.Record.Status), ConnectionStatus: string(upper(got.Record.Status)),
		ExpiresAt: event.At(c.Link.ExpiresAt), Title: a.Portal.Title, Accent: a.Portal.Accent, Logo: len(a.Portal.Logo) > 0,
	}
	if got.Passkey.Step != "" {
		out.Passkey = &got.Passkey
	}
	return c.Response.JSON(http.StatusOK, out)
}

func (a *API) portalLogo(c *rest.Call) error {
	if len(a.Portal.Logo) == 0 {
		return rest.Refuse(http.StatusNotFound, rest.CodeNotFound, "there is no logo")
	}
	h := c.Response.Header()
	h.Set("Content-Type", a.Portal.LogoType)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox") // as a picture of its own
	_, err := c.Response.Write(a.Portal.Logo)
	return err
}

// giveUpPairing cancels a pairing in progress. A linked account is not affected.
func (a *API) giveUpPairing(c *rest.Call) error {
	if err := a.Supervisor.GiveUpPairing(c.Request.Context(), c.Instance.ID, c.RequestID); err != nil {
		return err
	}
	return c.NoContent()
}
