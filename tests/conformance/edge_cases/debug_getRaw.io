>> {"jsonrpc":"2.0","id":1,"method":"debug_getRawBlock","params":["0xffff"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x"}
>> {"jsonrpc":"2.0","id":1,"method":"debug_getRawHeader","params":["0xffff"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x"}
>> {"jsonrpc":"2.0","id":1,"method":"debug_getRawReceipts","params":["0xffff"]}
<< {"jsonrpc":"2.0","id":1,"result":null}
>> {"jsonrpc":"2.0","id":1,"method":"debug_getRawTransaction","params":["0x1313131313131313131313131313131313131313131313131313131313131313"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x"}
