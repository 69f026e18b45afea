package operator

import (
	"net/http"

	"postern/httpapi/rest"
)

// CodeNotClustered says that the program has no store.url.
const CodeNotClustered = "NOT_CLUSTERED"

// showCluster answers with the state of the cell.
func (a *API) showCluster(c *rest.Call) error {
	if a.Cluster == nil {
		return rest.Refuse(http.StatusNotFound, CodeNotClustered, "this Postern runs alone: store.url is not set")
	}
	return c.Response.JSON(http.StatusOK, a.Cluster(c.Request.Context()))
}
