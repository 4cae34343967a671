// Go-ethereum's client subscribes as its documentation shows: go run . URL EMITTER
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

func say(kind string, value any) {
	line, _ := json.Marshal(map[string]any{kind: value})
	fmt.Println(string(line))
}

func must[T any](value T, err error) T {
	if err != nil {
		say("error", err.Error())
		os.Exit(1)
	}
	return value
}

func main() {
	background := context.Background()
	connection := must(rpc.DialContext(background, os.Args[1]))
	client := ethclient.NewClient(connection)
	heads := make(chan *types.Header)
	logs := make(chan types.Log)
	pending := make(chan common.Hash)
	query := ethereum.FilterQuery{Addresses: []common.Address{common.HexToAddress(os.Args[2])}}
	ends := []ethereum.Subscription{
		must(client.SubscribeNewHead(background, heads)),
		must(client.SubscribeFilterLogs(background, query, logs)),
		must(connection.EthSubscribe(background, pending, "newPendingTransactions")),
	}
	for _, each := range ends {
		go func() { say("error", fmt.Sprint(<-each.Err())) }()
	}
	go func() {
		for {
			select {
			case head := <-heads:
				say("head", head.Number.Uint64())
			case log := <-logs:
				say("log", []uint64{log.BlockNumber, uint64(log.Index)})
			case hash := <-pending:
				say("pending", hash.Hex())
			}
		}
	}()
	_, _ = io.ReadAll(os.Stdin)
}
