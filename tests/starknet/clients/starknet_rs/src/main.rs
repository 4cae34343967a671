//! Client on starknet-rs that prints a node's replies, or its notifications, as one JSON object.
//!
//! `read URL NUMBER CONTRACT KEY`: a block in its forms, its transactions, events and state.
//! `watch URL WS_URL TRANSACTION_HASH LAST_BLOCK`: all subscriptions, from the next block to the one with that
//! number; a line `subscribed` comes first.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{json, to_value, Value};
use starknet_core::types::{
    BlockId, ConfirmedBlockId, EmittedEvent, EventFilter, Felt, MaybePreConfirmedBlockWithReceipts,
    MaybePreConfirmedBlockWithTxHashes, MaybePreConfirmedBlockWithTxs,
    MaybePreConfirmedStateUpdate, ReorgData, StarknetError, TransactionStatus,
};
use starknet_providers::jsonrpc::{HttpTransport, JsonRpcClient};
use starknet_providers::{Provider, ProviderError};
use starknet_tokio_tungstenite::{
    EventSubscriptionOptions, EventsUpdate, NewHeadsUpdate, NewTransactionReceiptsUpdate,
    NewTransactionsUpdate, TransactionStatusUpdate, TungsteniteStream,
};
use url::Url;

type Client = JsonRpcClient<HttpTransport>;

const CONNECTING: Duration = Duration::from_secs(60);
const CHUNK: u64 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answers = match words[..] {
        ["read", url, number, contract, key] => {
            read(
                &client_of(url),
                number.parse().unwrap(),
                felt(contract),
                felt(key),
            )
            .await
        }
        ["watch", url, ws_url, transaction, last] => {
            watch(
                &client_of(url),
                ws_url,
                felt(transaction),
                last.parse().unwrap(),
            )
            .await
        }
        _ => {
            panic!("read URL NUMBER CONTRACT KEY, or watch URL WS_URL TRANSACTION_HASH LAST_BLOCK")
        }
    };
    println!("{answers}");
}

fn client_of(url: &str) -> Client {
    JsonRpcClient::new(HttpTransport::new(Url::parse(url).unwrap()))
}

fn felt(text: &str) -> Felt {
    Felt::from_hex(text).unwrap()
}

fn hex(value: Felt) -> String {
    format!("{value:#x}")
}

async fn read(client: &Client, number: u64, contract: Felt, key: Felt) -> Value {
    let block = BlockId::Number(number);
    let MaybePreConfirmedBlockWithTxHashes::Block(hashes) =
        client.get_block_with_tx_hashes(block).await.unwrap()
    else {
        panic!("the block is not sealed")
    };
    let MaybePreConfirmedBlockWithTxs::Block(whole) =
        client.get_block_with_txs(block).await.unwrap()
    else {
        panic!("the block is not sealed")
    };
    let MaybePreConfirmedBlockWithReceipts::Block(receipts) =
        client.get_block_with_receipts(block).await.unwrap()
    else {
        panic!("the block is not sealed")
    };
    let MaybePreConfirmedStateUpdate::Update(update) =
        client.get_state_update(block).await.unwrap()
    else {
        panic!("the block is not sealed")
    };
    let mut statuses = Vec::new();
    let mut are_same = true;
    for (index, hash) in hashes.transactions.iter().enumerate() {
        let by_hash = client.get_transaction_by_hash(hash).await.unwrap();
        let by_index = client
            .get_transaction_by_block_id_and_index(block, index as u64)
            .await
            .unwrap();
        let receipt = client.get_transaction_receipt(hash).await.unwrap();
        are_same &= whole.transactions[index] == by_hash
            && by_hash == by_index
            && receipts.transactions[index].receipt == receipt.receipt;
        statuses.push(status(&client.get_transaction_status(hash).await.unwrap()));
    }
    let class_hash = client.get_class_hash_at(block, contract).await.unwrap();
    let class = client.get_class_at(block, contract).await.unwrap();
    are_same &= class == client.get_class(block, class_hash).await.unwrap();
    let unknown = client.get_nonce(block, Felt::ONE + contract).await;
    json!({
        "specVersion": client.spec_version().await.unwrap(),
        "chainId": hex(client.chain_id().await.unwrap()),
        "blockHash": hex(hashes.block_hash),
        "root": hex(update.new_root),
        "hashes": hashes.transactions.iter().copied().map(hex).collect::<Vec<_>>(),
        "count": client.get_block_transaction_count(block).await.unwrap(),
        "areSame": are_same,
        "statuses": statuses,
        "events": events(client, number).await,
        "storage": hex(client.get_storage_at(contract, key, block).await.unwrap()),
        "nonce": hex(client.get_nonce(block, contract).await.unwrap()),
        "classHash": hex(class_hash),
        "classMembers": to_value(class).unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>(),
        "isUnknown": matches!(unknown, Err(ProviderError::StarknetError(StarknetError::ContractNotFound))),
    })
}

/// Returns the events of the blocks up to `last`, page by page, and the number of pages.
async fn events(client: &Client, last: u64) -> Value {
    let filter = EventFilter {
        from_block: Some(BlockId::Number(last.saturating_sub(1))),
        to_block: Some(BlockId::Number(last)),
        address: None,
        keys: None,
    };
    let (mut found, mut token, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = client
            .get_events(filter.clone(), token, CHUNK)
            .await
            .unwrap();
        found.extend(page.events.iter().map(event));
        pages += 1;
        token = page.continuation_token;
        if token.is_none() {
            return json!({"events": found, "pages": pages});
        }
    }
}

fn event(event: &EmittedEvent) -> Value {
    json!([
        event.block_hash.map(hex),
        hex(event.transaction_hash),
        hex(event.from_address),
        event.keys.iter().copied().map(hex).collect::<Vec<_>>(),
        event.data.iter().copied().map(hex).collect::<Vec<_>>(),
    ])
}

fn status(status: &TransactionStatus) -> Value {
    let outcome = match status {
        TransactionStatus::Received | TransactionStatus::Candidate => None,
        TransactionStatus::PreConfirmed(result)
        | TransactionStatus::AcceptedOnL2(result)
        | TransactionStatus::AcceptedOnL1(result) => Some(to_value(result.status()).unwrap()),
    };
    json!([to_value(status.finality_status()).unwrap(), outcome])
}

/// Notifications of all subscriptions, in order of arrival.
#[derive(Default)]
struct Sent {
    heads: Vec<(u64, Felt)>,
    events: Vec<EmittedEvent>,
    receipts: Vec<(Option<Felt>, Felt)>,
    transactions: Vec<Felt>,
    statuses: Vec<Value>,
    reorganisations: HashMap<&'static str, Vec<Value>>,
}

impl Sent {
    fn reorganised(&mut self, kind: &'static str, dropped: &ReorgData) {
        let place = json!([
            dropped.starting_block_number,
            hex(dropped.starting_block_hash),
            dropped.ending_block_number,
            hex(dropped.ending_block_hash),
        ]);
        self.reorganisations.entry(kind).or_default().push(place);
    }

    /// Returns true if everything of a block has been sent.
    fn has_all(&self, block: &Expected) -> bool {
        let events = self
            .events
            .iter()
            .filter(|each| each.block_hash == Some(block.hash))
            .count();
        let receipts = self
            .receipts
            .iter()
            .filter(|each| each.0 == Some(block.hash))
            .count();
        events == block.events
            && receipts == block.transactions.len()
            && block
                .transactions
                .iter()
                .all(|hash| self.transactions.contains(hash))
            && !self.statuses.is_empty()
    }

    fn json(&self) -> Value {
        json!({
            "heads": self.heads.iter().map(|(number, hash)| json!([number, hex(*hash)])).collect::<Vec<_>>(),
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
            "receipts": self.receipts.iter().map(|(block, hash)| json!([block.map(hex), hex(*hash)])).collect::<Vec<_>>(),
            "transactions": self.transactions.iter().copied().map(hex).collect::<Vec<_>>(),
            "statuses": self.statuses,
            "reorganisations": self.reorganisations,
        })
    }
}

/// Contents of a block, by its receipts.
struct Expected {
    hash: Felt,
    events: usize,
    transactions: Vec<Felt>,
}

async fn expected(client: &Client, hash: Felt) -> Expected {
    let MaybePreConfirmedBlockWithReceipts::Block(block) = client
        .get_block_with_receipts(BlockId::Hash(hash))
        .await
        .unwrap()
    else {
        panic!("the block is not sealed")
    };
    let receipts: Vec<_> = block
        .transactions
        .iter()
        .map(|item| &item.receipt)
        .collect();
    Expected {
        hash,
        events: receipts.iter().map(|receipt| receipt.events().len()).sum(),
        transactions: receipts
            .iter()
            .map(|receipt| *receipt.transaction_hash())
            .collect(),
    }
}

async fn watch(client: &Client, url: &str, transaction: Felt, last: u64) -> Value {
    let stream = TungsteniteStream::connect(url, CONNECTING).await.unwrap();
    let mut heads = stream
        .subscribe_new_heads(ConfirmedBlockId::Latest)
        .await
        .unwrap();
    let mut events = stream
        .subscribe_events(EventSubscriptionOptions::new())
        .await
        .unwrap();
    let mut receipts = stream
        .subscribe_new_transaction_receipts(None, None)
        .await
        .unwrap();
    let mut transactions = stream.subscribe_new_transactions(None, None).await.unwrap();
    let mut statuses = stream
        .subscribe_transaction_status(transaction)
        .await
        .unwrap();
    println!("subscribed");
    let (mut sent, mut end) = (Sent::default(), None);
    while !end.as_ref().is_some_and(|block| sent.has_all(block)) {
        tokio::select! {
            update = heads.recv() => match update.unwrap() {
                NewHeadsUpdate::NewHeader(header) => {
                    sent.heads.push((header.block_number, header.block_hash));
                    if header.block_number == last {
                        end = Some(expected(client, header.block_hash).await);
                    }
                }
                NewHeadsUpdate::Reorg(dropped) => sent.reorganised("heads", &dropped),
            },
            update = events.recv() => match update.unwrap() {
                EventsUpdate::Event(event) => sent.events.push(event.emitted_event),
                EventsUpdate::Reorg(dropped) => sent.reorganised("events", &dropped),
            },
            update = receipts.recv() => match update.unwrap() {
                NewTransactionReceiptsUpdate::Receipt(item) => {
                    sent.receipts.push((item.block.block_hash(), *item.receipt.transaction_hash()));
                }
                NewTransactionReceiptsUpdate::Reorg(dropped) => sent.reorganised("receipts", &dropped),
            },
            update = transactions.recv() => match update.unwrap() {
                NewTransactionsUpdate::Transaction(item) => {
                    sent.transactions.push(*item.txn.transaction_hash());
                }
                NewTransactionsUpdate::Reorg(dropped) => sent.reorganised("transactions", &dropped),
            },
            update = statuses.recv() => match update.unwrap() {
                TransactionStatusUpdate::Status(update) => sent.statuses.push(status(&update.status)),
                TransactionStatusUpdate::Reorg(dropped) => sent.reorganised("statuses", &dropped),
            },
        }
    }
    heads.unsubscribe().await.unwrap();
    events.unsubscribe().await.unwrap();
    receipts.unsubscribe().await.unwrap();
    transactions.unsubscribe().await.unwrap();
    statuses.unsubscribe().await.unwrap();
    sent.json()
}
