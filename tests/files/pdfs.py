"""Small PDF files, written by hand."""

from __future__ import annotations

import io

from pypdf import PdfReader, PdfWriter


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page; a page without one is empty."""
    writer = PdfWriter()
    for page in pages:
        writer.append(PdfReader(io.BytesIO(_one_page(page))))
    return _written(writer)


def locked(content: bytes) -> bytes:
    """The same, behind a password."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    writer.encrypt("not-a-real-password", algorithm="RC4-128")
    return _written(writer)


def _written(writer: PdfWriter) -> bytes:
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _one_page(text: str) -> bytes:
    drawing = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawing), drawing),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n"
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start
