package sandbox

// groupActs make and change groups.
func groupActs() []act { return nil }
