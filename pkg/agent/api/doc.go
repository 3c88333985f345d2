// Package api is how the tool speaks with an agent: over HTTPS, and both sides prove themselves by certificate. The
// paths begin with the version, /v1. Any agent takes any request: what the group must agree on goes to its leader, what
// only the primary can do goes to the primary's agent.
package api
