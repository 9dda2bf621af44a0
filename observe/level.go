package observe

import "fmt"

var levels = [...]string{LevelOff: "off", LevelCounts: "counts", LevelHolders: "holders"}

// String returns "off", "counts" or "holders".
func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// MarshalText returns what String does.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (l *Level) UnmarshalText(text []byte) error {
	for i, name := range levels {
		if name == string(text) {
			*l = Level(i)
			return nil
		}
	}
	return fmt.Errorf("observe: no level %q", text)
}
