package sandbox

// peopleActs are what people change about themselves and show of themselves.
func peopleActs() []act { return nil }
