/** JSON as a type. `undefined` is not JSON: an absent value is left out or `null`. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
