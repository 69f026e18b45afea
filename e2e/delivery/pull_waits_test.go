package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestWaitingPullEndsWithItsConsumer, with a code that the OpenAPI document has.
func TestWaitingPullEndsWithItsConsumer(t *testing.T) {
	s := pulling(t, `{"durable":true}`)
	ended := make(chan string, 1)
	go func() {
		status, answer := s.ask(http.MethodGet, "?consumer=crm&event=messages.delete&wait=30", "")
		ended <- fmt.Sprint(status, " ", answer)
	}()
	var answer string
	s.Await("the end of the pull", func() bool {
		s.ask(http.MethodDelete, "/consumers/crm", "") // also one that the pull has made again
		select {
		case answer = <-ended:
			return true
		default:
			return false
		}
	})
	if !strings.HasPrefix(answer, "404 ") || !strings.Contains(answer, `"CONSUMER_NOT_FOUND"`) {
		t.Error(answer)
	}
}
