package record

import (
	"testing"

	"github.com/google/uuid"
)

func TestItemIDsAreReversible(t *testing.T) {
	seen := map[uuid.UUID]bool{}
	for range 50 {
		batch := uuid.Must(uuid.NewV7())
		for _, position := range []int{0, 1, 255, 99_999} {
			item := ItemID(batch, position)
			back, ok := ItemPosition(batch, item)
			if !ok || back != position {
				t.Fatalf("item %d came back as %d, %v", position, back, ok)
			}
			if _, ok := ItemPosition(uuid.Must(uuid.NewV7()), item); ok {
				t.Fatal("the item is found under another batch")
			}
			for _, id := range []uuid.UUID{item, AttemptID(item, 1), AttemptID(item, 2)} {
				if id.Version() != 7 || id.Variant() != uuid.RFC4122 || seen[id] || id == batch {
					t.Fatalf("%s: version %d, %s, seen %v", id, id.Version(), id.Variant(), seen[id])
				}
				seen[id] = true
			}
		}
	}
}
