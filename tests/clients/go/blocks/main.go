// Go-ethereum's client reads a block, the head's without a number: go run ./blocks URL [0xNUMBER]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/ethclient"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	background := context.Background()
	client := must(ethclient.DialContext(background, os.Args[1]))
	var number *big.Int
	if len(os.Args) > 2 {
		number = must(hexutil.DecodeBig(os.Args[2]))
	}
	block := must(client.BlockByNumber(background, number))
	transactions := []map[string]any{}
	for index, transaction := range block.Transactions() {
		sender := must(client.TransactionSender(background, transaction, block.Hash(), uint(index)))
		receipt := must(client.TransactionReceipt(background, transaction.Hash()))
		transactions = append(transactions, map[string]any{
			"hash": transaction.Hash(), "from": sender, "type": transaction.Type(), "status": receipt.Status,
		})
	}
	told := map[string]any{"hash": block.Hash(), "transactions": transactions}
	fmt.Println(string(must(json.Marshal(told))))
}
