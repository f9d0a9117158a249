// Signs in and refreshes with go-oidc and x/oauth2. Reads its settings and the redirect of the browser from standard input,
// one line each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"net/url"
	"os"

	oidc "github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	hear := func(value interface{}) {
		lines.Scan()
		check(json.Unmarshal(lines.Bytes(), value))
	}
	say := func(value interface{}) { check(json.NewEncoder(os.Stdout).Encode(value)) }

	var settings struct {
		Issuer       string `json:"issuer"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		RedirectURI  string `json:"redirect_uri"`
		Scopes       []string `json:"scopes"`
	}
	hear(&settings)
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, settings.Issuer)
	check(err)
	client := oauth2.Config{
		ClientID:     settings.ClientID,
		ClientSecret: settings.ClientSecret,
		RedirectURL:  settings.RedirectURI,
		Endpoint:     provider.Endpoint(),
		Scopes:       settings.Scopes,
	}
	say(client.AuthCodeURL("some-state", oidc.Nonce("some-nonce")))

	var location string
	hear(&location)
	callback, err := url.Parse(location)
	check(err)
	token, err := client.Exchange(ctx, callback.Query().Get("code"))
	check(err)
	verifier := provider.Verifier(&oidc.Config{ClientID: settings.ClientID})
	idToken, err := verifier.Verify(ctx, token.Extra("id_token").(string))
	check(err)
	check(idToken.VerifyAccessToken(token.AccessToken))
	userInfo, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	check(err)
	var claims map[string]interface{}
	check(userInfo.Claims(&claims))
	// A token that is over makes the next call refresh.
	refreshed, err := client.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	check(err)
	say(map[string]interface{}{
		"details":  []interface{}{token.Extra("authorization_details"), refreshed.Extra("authorization_details")},
		"isNew":    refreshed.AccessToken != token.AccessToken,
		"state":    callback.Query().Get("state"),
		"nonce":    idToken.Nonce,
		"subject":  idToken.Subject,
		"userinfo": claims,
	})
}
