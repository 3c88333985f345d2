// Package operation holds what can be asked of any cluster: one type and one file a verb.
package operation
