package peers

// Enough returns how many descriptors a program with so many instances needs, with a few
// clients: an instance has its connection, and now and then files on their way.
func Enough(instances int) int { return 256 + 4*instances }
