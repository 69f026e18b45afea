package wsbus

import (
	"fmt"
	"strconv"
	"strings"
)

// Gap is a run of sequences whose events were removed together with their
// batches, or erased. A replay skips it, and announces it beforehand: a client that
// counts adds its length when it comes to it.
type Gap struct{ First, Last uint64 }

// gapsHeader lists the gaps between the position that a client with since
// starts from and the newest sequence: "4-9,12-12".
const gapsHeader = "X-Event-Gaps"

// maxGaps is the maximum number of gaps listed for a client. When there are more, it
// must reconnect.
const maxGaps = 200

// learnGaps stores the gaps listed for the client.
func (c *client) learnGaps() error {
	gaps, err := c.past.gaps(c.position, maxGaps)
	if err != nil {
		return fmt.Errorf("gaps in the events of %s after %d: %w", c.past, c.position, err)
	}
	for i := range gaps {
		gaps[i].First = max(gaps[i].First, c.position+1)
	}
	c.known = gaps
	return nil
}

// writeGaps returns the value of the header.
func writeGaps(gaps []Gap) string {
	var text strings.Builder
	for i, g := range gaps {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.FormatUint(g.First, 10) + "-" + strconv.FormatUint(g.Last, 10))
	}
	return text.String()
}

// covered reports whether everything after one sequence up to another lies in
// one of the gaps. Two gaps never touch.
func covered(gaps []Gap, after, to uint64) bool {
	for _, g := range gaps {
		if g.First <= after+1 && to <= g.Last {
			return true
		}
	}
	return false
}
