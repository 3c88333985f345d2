// Command tokens gives a token to everybody who asks with an assertion, as Google's server of tokens gives one to a
// service account. It is beside a fake of the object store, which asks for none.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

// headerWithin bounds what a client may take to send the beginning of a request.
const headerWithin = 10 * time.Second

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "tokens: name the address to serve, such as :8080")
		os.Exit(2)
	}
	server := &http.Server{Addr: os.Args[1], Handler: http.HandlerFunc(token), ReadHeaderTimeout: headerWithin}
	fmt.Fprintln(os.Stderr, "tokens:", server.ListenAndServe())
	os.Exit(1)
}

func token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.PostFormValue("assertion") == "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	fmt.Fprint(w, `{"access_token":"token-of-the-test","token_type":"Bearer","expires_in":3600}`)
}
