/** The page's own files. Named by content they may be kept for ever; the page itself is asked for anew each time. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
  ".map": "application/json",
};

/** No foreign script, frame, form or connection; inline styles only, which the page's highlighting needs. */
const PAGE_HEADERS: Record<string, string> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
};

const UNBUILT =
  "<!doctype html><meta charset=utf-8><title>somora</title><p>The page is not built. Run <code>npm start</code> in the checkout.</p>";

/** Null: no such file. `root` null: the page was not built. */
export async function staticFile(root: string | null, path: string, ifNoneMatch: string | undefined): Promise<Response | null> {
  const name = path === "/" ? "index.html" : safeName(path);
  if (name === null) return null;
  const bytes = root === null ? null : await bytesOf(join(root, name));
  if (bytes === null) {
    if (name !== "index.html") return null;
    return new Response(UNBUILT, {
      status: 503,
      headers: { ...PAGE_HEADERS, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
    });
  }
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  const headers = {
    ...PAGE_HEADERS,
    "content-type": TYPES[extname(name)] ?? "application/octet-stream",
    "cache-control": /^assets[\\/]/.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
    etag,
  };
  if (ifNoneMatch === etag) return new Response(null, { status: 304, headers });
  return new Response(new Uint8Array(bytes), { headers });
}

function safeName(path: string): string | null {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return null; // a broken %-escape names no file
  }
  const name = normalize(decoded.replace(/^\/+/, ""));
  return name === "." ||
    name.startsWith("..") ||
    name.startsWith(sep) ||
    name.includes("\0") ||
    name.split(sep).some((part) => part.startsWith("."))
    ? null
    : name;
}

async function bytesOf(path: string): Promise<Buffer | null> {
  try {
    return (await stat(path)).isFile() ? await readFile(path) : null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}
