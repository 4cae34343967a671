// Follows a beacon node by go-ethereum's light client, which blsync is made of, and prints what it has proved, a
// line each time that changes.
//
//	light_clients URL CHECKPOINT
//
// It knows committees of 512 members alone. A line is {"proved": {slot, hash}, "finalized": {slot, hash}}.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/beacon/light"
	"github.com/ethereum/go-ethereum/beacon/light/api"
	"github.com/ethereum/go-ethereum/beacon/params"
	"github.com/ethereum/go-ethereum/beacon/types"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
)

const (
	threshold = 342
	pause     = 250 * time.Millisecond
)

type header struct {
	Slot uint64      `json:"slot"`
	Hash common.Hash `json:"hash"`
}

func main() {
	if err := follow(os.Args[1], common.HexToHash(os.Args[2])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func follow(url string, checkpoint common.Hash) error {
	config, err := configOf(url)
	if err != nil {
		return err
	}
	node := api.NewBeaconLightApi(url, nil, config)
	chain := light.NewCommitteeChain(memorydb.New(), config, threshold, false)
	bootstrap, err := node.GetCheckpointData(checkpoint)
	if err != nil {
		return err
	}
	if err := chain.CheckpointInit(*bootstrap); err != nil {
		return err
	}
	tracker := light.NewHeadTracker(chain, threshold, nil)
	for last := ""; ; time.Sleep(pause) {
		if err := advance(node, chain, tracker); err != nil {
			return err
		}
		line, err := told(tracker)
		if err != nil {
			return err
		}
		if line != last {
			fmt.Println(line)
			last = line
		}
	}
}

// advance takes what the node has by now.
func advance(node *api.BeaconLightApi, chain *light.CommitteeChain, tracker *light.HeadTracker) error {
	optimistic, err := node.GetOptimisticUpdate()
	if err != nil {
		return err
	}
	// Of a later period than that of its head the node has no update.
	if period, ok := chain.NextSyncPeriod(); ok && period <= types.SyncPeriod(optimistic.SignatureSlot) {
		updates, committees, err := node.GetBestUpdatesAndCommittees(period, 1)
		if err != nil {
			return err
		}
		for place, update := range updates {
			if err := chain.InsertUpdate(update, committees[place]); err != nil {
				return err
			}
		}
	}
	if _, err := tracker.ValidateOptimistic(optimistic); err != nil {
		return err
	}
	finality, err := node.GetFinalityUpdate()
	if err != nil {
		return err
	}
	_, err = tracker.ValidateFinality(finality)
	return err
}

func told(tracker *light.HeadTracker) (string, error) {
	optimistic, _ := tracker.ValidatedOptimistic()
	finality, _ := tracker.ValidatedFinality()
	line, err := json.Marshal(map[string]header{
		"proved":    headerOf(optimistic.Attested),
		"finalized": headerOf(finality.Finalized),
	})
	return string(line), err
}

func headerOf(proved types.HeaderWithExecProof) header {
	return header{proved.Slot, proved.BlockHash()}
}

func configOf(url string) (*params.ChainConfig, error) {
	var genesis struct {
		Data struct {
			Time string      `json:"genesis_time"`
			Root common.Hash `json:"genesis_validators_root"`
		} `json:"data"`
	}
	var spec struct {
		Data map[string]any `json:"data"`
	}
	if err := get(url+"/eth/v1/beacon/genesis", &genesis); err != nil {
		return nil, err
	}
	if err := get(url+"/eth/v1/config/spec", &spec); err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseUint(genesis.Data.Time, 10, 64)
	if err != nil {
		return nil, err
	}
	config := &params.ChainConfig{GenesisTime: seconds, GenesisValidatorsRoot: genesis.Data.Root}
	for name, value := range spec.Data {
		fork, isVersion := strings.CutSuffix(name, "_FORK_VERSION")
		if !isVersion {
			continue
		}
		version, err := hexutil.Decode(value.(string))
		if err != nil {
			return nil, err
		}
		epoch := uint64(0)
		if fork != "GENESIS" {
			if epoch, err = strconv.ParseUint(spec.Data[fork+"_FORK_EPOCH"].(string), 10, 64); err != nil {
				return nil, err
			}
		}
		if epoch != math.MaxUint64 {
			config.AddFork(fork, epoch, version)
		}
	}
	return config, nil
}

func get(url string, into any) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}
