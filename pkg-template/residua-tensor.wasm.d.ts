/** The address of the tensors' WebAssembly module, as bundlers give it for an asset: something for `init()` of `residua/tensor`. */
declare const url: string;
export default url;
