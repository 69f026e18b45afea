// Package display says as what the file of a stored message is served: its name and its
// content type.
//
// The sender of a message chooses the file, its name and its declared type, and a browser
// may open it on a page of the server. So the content type follows from the bytes alone
// ([Type]) and is one of a short list, and the name ([File.Name]) contains nothing that a
// browser, a header or a file system gives a meaning.
package display
