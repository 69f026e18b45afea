package doctor

import (
	"errors"
	"strconv"

	"postern/app"
	"postern/app/upstream"
	"postern/store"
)

// accounts checks whether the accounts of the data file belong to the network that the
// configuration connects to. A running program reports that itself, see program.
func (r *examination) accounts() []Finding {
	const check = "accounts"
	switch {
	case r.running:
		return nil
	case r.none:
		return one(check, OK, "", "there are none yet")
	case r.closed != nil:
		return one(check, Warning, "the data file is the cause, see its line", "not looked at: the data file cannot be opened")
	}
	network, err := upstream.Network(r.Config)
	switch {
	case errors.Is(err, store.ErrLocked):
		return one(check, Warning, "stop what uses the file of the sandbox, and run this again", "not looked at: %v", err)
	case err != nil:
		return one(check, Fault, "fix it: no account connects until then", "the network of the accounts is not known: %v", err)
	}
	stray, all, err := upstream.Strays(r.Config.Store.Path, app.Buckets(), network)
	if err != nil {
		return one(check, Warning, "the data file is the cause, see its line", "not looked at: %v", err)
	}
	if len(stray) > 0 {
		message, advice := upstream.Elsewhere(stray, network)
		return one(check, Warning, advice, "%s", message)
	}
	return one(check, OK, "", "%s", linked(all, network.String()))
}

func linked(n int, network string) string {
	switch n {
	case 0:
		return "none is linked"
	case 1:
		return "1 is linked, not of another network than " + network
	default:
		return strconv.Itoa(n) + " are linked, none of another network than " + network
	}
}
