/** The address of the WebAssembly module, as bundlers give it for an asset: something for `init()`. */
declare const url: string;
export default url;
