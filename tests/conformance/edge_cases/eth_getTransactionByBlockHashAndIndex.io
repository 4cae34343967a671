>> {"jsonrpc":"2.0","id":0,"method":"eth_getTransactionByBlockHashAndIndex","params":["0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","0x99"]}
<< {"jsonrpc":"2.0","id":0,"result":null}
>> {"jsonrpc":"2.0","id":1,"method":"eth_getTransactionByBlockHashAndIndex","params":["0x1111111111111111111111111111111111111111111111111111111111111111","0x0"]}
<< {"jsonrpc":"2.0","id":1,"result":null}
