package archive

import (
	"fmt"
	"strconv"
	"time"
)

// mostYears bounds an age: what is longer does not fit into a duration.
const mostYears = 100

// ParseAge reads an age in hours, days or weeks: "36h", "7d" or "4w"; "" is 0.
func ParseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	const day = 24 * time.Hour
	unit := map[byte]time.Duration{'h': time.Hour, 'd': day, 'w': 7 * day}[text[len(text)-1]]
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 32)
	if err != nil || unit == 0 || n < 1 || n > int64(mostYears*365*day/unit) {
		return 0, fmt.Errorf("%q is no age: write hours, days or weeks, such as 36h, 7d or 4w", text)
	}
	return time.Duration(n) * unit, nil
}
