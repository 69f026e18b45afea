package httpapi

import (
	_ "embed"
	"slices"
	"strings"

	"postern/httpapi/rest"
)

// routesPage has a line for each route: method, path, credential and the scopes of which a scoped key needs one. A
// test compares it with the tables; with -update it writes the page. Documents list the routes in its order.
//
//go:embed routes.txt
var routesPage string

// routes returns every path of the program except those of mounted handlers and of [unlisted]. Older paths are in
// [aliases].
func routes() []rest.Route { return newAPI(Config{}).routes() }

// routes joins the tables of the resources, in the order of the page.
func (a *api) routes() []rest.Route {
	all := slices.Concat(
		a.operator.Routes(), a.instances.Routes(), a.deliveries.Routes(), a.sends.Routes(), a.files.Routes(), a.chats.Routes(), a.batches.Routes(), a.sockets.Routes(),
	)
	at := map[string]int{}
	for line := range strings.Lines(routesPage) {
		if words := strings.Fields(line); len(words) > 1 {
			at[words[0]+" "+words[1]] = len(at) + 1
		}
	}
	place := func(r rest.Route) int {
		if n := at[r.Method+" "+r.Path]; n > 0 {
			return n
		}
		return len(at) + 1 // new ones come last
	}
	slices.SortStableFunc(all, func(x, y rest.Route) int { return place(x) - place(y) })
	return all
}
