// Go-ethereum's client subscribes to kinds that it does not know: go run ./subscriptions URL
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ethereum/go-ethereum/rpc"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	background := context.Background()
	client, err := rpc.DialContext(background, os.Args[1])
	check(err)
	subscribe := func(arguments ...any) <-chan json.RawMessage {
		told := make(chan json.RawMessage, 1)
		_, err := client.EthSubscribe(background, told, arguments...)
		check(err)
		return told
	}
	var accounts []string
	check(client.Call(&accounts, "eth_accounts"))
	sender := accounts[:1]
	states := subscribe("state", map[string]any{"accounts": sender})
	pending := subscribe("newPendingTransactions", true, map[string]any{"fromAddress": sender})
	blocks := subscribe("newBlocks", map[string]bool{"transactions": true, "receipts": true})
	mined := subscribe("alchemy_minedTransactions", map[string]bool{"hashesOnly": true})
	first := <-states
	var sent string
	check(client.Call(&sent, "eth_sendTransaction", map[string]string{"from": sender[0], "to": sender[0]}))
	fmt.Printf(`{"first":%s,"last":%s,"pending":%s,"block":%s,"mined":%s}`, first, <-states, <-pending, <-blocks, <-mined)
}
