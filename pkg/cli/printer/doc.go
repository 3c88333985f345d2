// Package printer writes results: tables, JSON, YAML, columns, colors, sizes and ages.
package printer
