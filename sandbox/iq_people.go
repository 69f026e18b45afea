package sandbox

import waBinary "go.mau.fi/whatsmeow/binary"

// peopleIQ answers requests about people: pictures, abouts, blocked contacts.
func peopleIQ(key iqKey) (iqHandler, bool) {
	switch key {
	case iqKey{"blocklist", "get", ""}:
		return blockList, true
	case iqKey{"w:profile:picture", "get", "picture"}:
		return noPicture, true
	default:
		return nil, false
	}
}

func blockList(*Server, *conn, *device, *waBinary.Node) (waBinary.Node, error) {
	return waBinary.Node{Tag: "list", Attrs: waBinary.Attrs{"dhash": "0"}}, nil
}

func noPicture(*Server, *conn, *device, *waBinary.Node) (waBinary.Node, error) {
	return waBinary.Node{}, errIQ{404, "item-not-found"}
}
