package dispatch

import (
	"container/heap"
	"slices"
)

// This file handles the deliveries that wait in a plan.

// add appends a delivery to those of its host.
func (p *plan[T]) add(l *host[T], what T) {
	l.waiting = append(l.waiting, what)
	p.waiting++
	p.holders.changed(l)
	p.place(l)
}

// shift takes the first waiting delivery of a host.
func (p *plan[T]) shift(l *host[T]) (what T) {
	var none T
	what, l.waiting[0] = l.waiting[0], none
	l.waiting = l.waiting[1:]
	if len(l.waiting) == 0 {
		l.waiting = nil
	}
	p.waiting--
	p.holders.changed(l)
	return what
}

// displace makes a place for a new delivery of l by dropping the newest delivery of the
// host that holds most. If that is l, the new delivery must be refused and ok is false.
func (p *plan[T]) displace(l *host[T]) (dropped T, ok bool) {
	payer := p.holders[0]
	if len(l.waiting) >= len(payer.waiting) {
		return dropped, false
	}
	last := len(payer.waiting) - 1
	dropped = payer.waiting[last]
	payer.waiting = slices.Delete(payer.waiting, last, last+1)
	p.waiting--
	p.holders.changed(payer)
	p.place(payer)
	return dropped, true
}

// withdraw removes the waiting deliveries that meant selects from all hosts, and returns
// them.
func (p *plan[T]) withdraw(meant func(T) bool) (all []T) {
	for _, l := range slices.Clone(p.holders) {
		n := len(all)
		l.waiting = slices.DeleteFunc(l.waiting, func(d T) bool {
			if !meant(d) {
				return false
			}
			all = append(all, d)
			return true
		})
		if len(all) > n {
			p.waiting -= len(all) - n
			p.holders.changed(l)
			p.place(l)
		}
	}
	return all
}

// drop removes all waiting deliveries of the host and returns them.
func (p *plan[T]) drop(l *host[T]) (dropped []T) {
	dropped = l.waiting
	l.waiting = nil
	p.waiting -= len(dropped)
	p.holders.changed(l)
	p.place(l)
	return dropped
}

// holders is a heap of the hosts with waiting deliveries, the one with most first.
type holders[T any] []*host[T]

// changed moves the host to the position that its number of places requires.
func (h *holders[T]) changed(l *host[T]) {
	switch {
	case len(l.waiting) == 0 && l.rank >= 0:
		heap.Remove(h, l.rank)
	case len(l.waiting) == 0:
	case l.rank < 0:
		heap.Push(h, l)
	default:
		heap.Fix(h, l.rank)
	}
}

// Len implements [heap.Interface].
func (h holders[T]) Len() int           { return len(h) }
func (h holders[T]) Less(i, j int) bool { return len(h[i].waiting) > len(h[j].waiting) }
func (h holders[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].rank, h[j].rank = i, j
}

// Push implements [heap.Interface].
func (h *holders[T]) Push(x any) {
	l, _ := x.(*host[T])
	l.rank = len(*h)
	*h = append(*h, l)
}

// Pop implements [heap.Interface].
func (h *holders[T]) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	l.rank = -1
	return l
}
