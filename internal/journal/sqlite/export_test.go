package sqlite

// OptionsFor opens a file through a driver that a test registered.
func OptionsFor(path, driver string) Options { return Options{Path: path, driver: driver} }
