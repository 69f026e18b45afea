package config

// Changed returns the settings in which two configurations differ, by their TOML paths in
// the order of the table.
func Changed(a, b *Config) (paths []string) {
	after := tableOf(b)
	for i, before := range tableOf(a) {
		if before.value.toml() != after[i].value.toml() {
			paths = append(paths, before.path)
		}
	}
	return paths
}

// tableOf returns the table with the values of c, bound to a copy of it.
func tableOf(c *Config) []setting {
	var at Config
	table := settings(&at)
	at = *c
	return table
}
