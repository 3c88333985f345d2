package agreed

import "testing"

func TestArchiveInterval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "60s", "5s": "5s", "300": "300s", "10min": "10min", "0": "", "0s": "", "0min": "", "100ms": "100ms",
	} {
		if got := ArchiveInterval(map[string]string{"archive_timeout": text}, "archive_timeout"); got != want {
			t.Errorf("of %q it is %q, want %q", text, got, want)
		}
	}
}
