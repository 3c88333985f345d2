// Package rules holds what every operation is judged by, and what operations share: who may be trusted, when to wait,
// when to ask a person, how members restart one after another. Rules know no verb: they ask the operation's Traits.
package rules
